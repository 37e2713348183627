"""Who speaks on a socket."""

from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.utils.crypto import constant_time_compare

from assistant.errors import NotACustomer, SessionExpired
from orders.models import Customer


def signed_in_customer(scope: dict[str, Any]) -> Customer:
    """The customer of a socket's session cookie, looked up anew at every frame. Two queries.

    Raises ``SessionExpired`` for nobody, for a session that has ended meanwhile, and after the
    password was changed or the account switched off; ``NotACustomer`` for staff.
    """
    key = scope.get("cookies", {}).get(settings.SESSION_COOKIE_NAME)
    session = SessionStore(key).load() if key else {}
    user_id = session.get(SESSION_KEY)
    if user_id is None:
        raise SessionExpired
    customer = Customer.objects.select_related("user").filter(user_id=user_id).first()
    user = customer.user if customer else User.objects.filter(pk=user_id).first()
    if user is None or not user.is_active or not _same_password(user, session):
        raise SessionExpired
    if customer is None:
        raise NotACustomer
    return customer


def _same_password(user: User, session: dict[str, Any]) -> bool:
    """Does the session date from the present password (or from before a key rotation)?"""
    stored = str(session.get(HASH_SESSION_KEY, ""))
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(stored, found) for found in hashes)
