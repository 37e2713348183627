from django.urls import path

from assistant.views import orders_page

app_name = "assistant"

urlpatterns = [path("", orders_page, name="orders")]
