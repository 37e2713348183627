from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.urls import include, path

from quickbite_support.health import healthz, readyz
from quickbite_support.sign_in import limited

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("accounts/login/", limited(LoginView.as_view())),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/login/", limited(admin.site.login)),
    path("admin/", admin.site.urls),
    path("", include("assistant.urls")),
]
