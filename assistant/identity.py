"""Who speaks on a socket."""

from typing import Any

from django.contrib.sessions.models import Session
from django.utils import timezone

from assistant.errors import NotACustomer, SessionExpired
from orders.errors import OrderError
from orders.models import Customer
from orders.selectors import customer_of


def signed_in_customer(scope: dict[str, Any]) -> Customer:
    """The customer of a socket's session, looked up anew; raises ``SessionExpired``
    or ``NotACustomer``.

    Signing out deletes the session's row, so a socket that outlives it can do nothing more.
    """
    user, session = scope.get("user"), scope.get("session")
    if user is None or session is None or not user.is_authenticated:
        raise SessionExpired
    alive = Session.objects.filter(
        session_key=session.session_key, expire_date__gt=timezone.now()
    ).exists()
    if not alive:
        raise SessionExpired
    try:
        return customer_of(user)
    except OrderError as error:
        raise NotACustomer from error
