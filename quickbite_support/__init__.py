"""Composes the apps into one service; no app imports it."""

from quickbite_support.celery import app as celery_app

__all__ = ["celery_app"]
