"""How often one may try to sign in: so many failures a minute for each address and user name.

Every try counts as it begins, so that many at once are not let through together; one that succeeds
is taken off again, so an office behind one address may sign in as often as it likes. The counts are
in the shared cache. While that is away each web server counts for itself, and allows less.

The address is the connection's own. Behind a proxy run Daphne with ``--proxy-headers``, and let the
proxy replace ``X-Forwarded-For`` with what it sees itself.
"""

import logging
import math
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django_ratelimit.core import get_usage
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

_MINUTE_S = 60
#: Failures a minute that one web server allows while the shared counts are away.
_ALONE = 3


class LocalCounts:
    """Counts of the minute, in this process. Thread-safe; forgets with the minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._failures: Counter[str] = Counter()

    def add(self, name: str, number: int) -> int:
        with self._lock:
            minute = int(time.time()) // _MINUTE_S
            if minute != self._minute:
                self._minute = minute
                self._failures.clear()
            self._failures[name] += number
            return self._failures[name]


local_counts = LocalCounts()


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A sign-in view that answers 429 and the seconds to wait after too many failures."""

    @sensitive_post_parameters()
    @wraps(view)
    def limit(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        wait_s = max(_begin(request, scope, value) for scope, value in _whom(request))
        if wait_s:
            return _refusal(request, wait_s)
        response = view(request, *args, **kwargs)
        # A form with mistakes is shown again with status 200.
        if response.status_code == 302:
            for scope, value in _whom(request):
                _succeed(request, scope, value)
        return response

    return limit


def _whom(request: HttpRequest) -> list[tuple[str, str]]:
    # As the form cleans it: otherwise "maya " would be a name with counts of its own.
    name = unicodedata.normalize("NFKC", request.POST.get("username", "").strip())
    found = [("name", name)]
    if request.META.get("REMOTE_ADDR"):  # empty behind a Unix socket
        found.append(("address", "ip"))
    return found


def _begin(request: HttpRequest, scope: str, value: str) -> int:
    """Count a try; the seconds to wait before the next, 0 if this one may go on."""
    try:
        tried, left_s = _shared(request, "tries", scope, value, increment=True)
        succeeded, _ = _shared(request, "successes", scope, value, increment=False)
        limit, failures = settings.SIGN_IN_FAILURES_PER_MINUTE, tried - succeeded
    except (ConnectionInterrupted, RedisError, OSError) as error:
        logger.warning("sign-ins are counted here alone, the cache is away: %s", error)
        failures = local_counts.add(_local_name(request, scope, value), 1)
        limit, left_s = _ALONE, _MINUTE_S - int(time.time()) % _MINUTE_S
    return max(left_s, 1) if failures > limit else 0


def _succeed(request: HttpRequest, scope: str, value: str) -> None:
    try:
        _shared(request, "successes", scope, value, increment=True)
    except (ConnectionInterrupted, RedisError, OSError):
        local_counts.add(_local_name(request, scope, value), -1)


def _shared(
    request: HttpRequest, what: str, scope: str, value: str, *, increment: bool
) -> tuple[int, int]:
    """The count of this minute and the seconds that are left of it. Raises when Redis is away."""
    usage = get_usage(
        request,
        group=f"sign-in:{what}:{scope}",
        key="ip" if scope == "address" else lambda group, request: value,
        rate=f"{settings.SIGN_IN_FAILURES_PER_MINUTE}/m",
        increment=increment,
    )
    if usage["limit"] == 0:
        raise ConnectionInterrupted(None)
    return int(usage["count"]), int(usage["time_left"])


def _local_name(request: HttpRequest, scope: str, value: str) -> str:
    return f"{scope}:{request.META['REMOTE_ADDR'] if scope == 'address' else value}"


def _refusal(request: HttpRequest, wait_s: float) -> HttpResponse:
    seconds = math.ceil(wait_s)
    response = render(request, "429.html", {"wait_s": seconds, "again": request.path}, status=429)
    response["Retry-After"] = str(seconds)
    return response
