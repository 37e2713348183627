"""The Celery application: worker and beat of every deployment."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "quickbite_support.settings")

app = Celery("quickbite_support")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
