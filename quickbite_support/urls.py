from django.contrib import admin
from django.urls import include, path

from quickbite_support.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/", admin.site.urls),
    path("", include("assistant.urls")),
]
