"""Word between processes that the cached answers have changed. Only a doorbell: it may get lost."""

import logging
import threading
import time
from typing import Any

from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

CHANNEL = "qb:answer-cache"


def announce() -> None:
    """Tell every process that the answers have changed; the version check makes up for a loss."""
    try:
        with Redis.from_url(
            settings.CACHE_REDIS_URL, socket_connect_timeout=0.5, socket_timeout=0.5
        ) as redis:
            redis.publish(CHANNEL, b"changed")
    except (RedisError, OSError) as error:
        # Nothing is lost by it, and the set-up installs answers before there is a Redis.
        logger.debug("changed answers could not be announced, they show within a second: %s", error)


class Bell:
    """Waits for a change to be announced. Without Redis it just waits."""

    def __init__(self) -> None:
        self._redis: Any = None
        self._subscription: Any = None

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Return after a message, a first subscription, or so many seconds."""
        until = time.monotonic() + seconds
        try:
            if self._subscription is None:
                redis: Any = Redis.from_url(
                    settings.CACHE_REDIS_URL, socket_connect_timeout=0.2, socket_timeout=2
                )
                self._redis = redis
                self._subscription = redis.pubsub(ignore_subscribe_messages=True)
                self._subscription.subscribe(CHANNEL)
            while (left := until - time.monotonic()) > 0 and not stop.is_set():
                if self._subscription.get_message(timeout=min(left, 0.25)):
                    return
        except (RedisError, OSError, ValueError) as error:
            logger.debug("no news of changed answers, the version check goes on: %s", error)
            self.close()
            stop.wait(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        try:
            if self._subscription is not None:
                self._subscription.close()
            if self._redis is not None:
                self._redis.close()
        except (RedisError, OSError):
            pass
        self._redis = self._subscription = None
