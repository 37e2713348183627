"""``/healthz``: this process lives. ``/readyz``: what it has to work with.

A service that every web server shares, such as the database, makes ``/readyz`` say *degraded* and
not fail: taking all web servers out of the load balancer would turn an honest message into none.
"""

import asyncio
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse

from assistant import prompts
from assistant.db import in_db
from inference import dispatch
from inference.errors import InferenceError
from quickbite_support.startup import Startup

_PATIENCE_S = 2.0


async def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


async def readyz(request: HttpRequest) -> JsonResponse:
    """200 with every component's state; 503 only until this process has warmed up once."""
    names = ("database", "redis", "tokenizer", "engine")
    found = await asyncio.gather(
        *(_state(check) for check in (_database, _redis, _tokenizer, _engine))
    )
    components = dict(zip(names, found, strict=True))
    degraded = any(component["status"] != "ok" for component in components.values())
    content = {"status": "degraded" if degraded else "ok", "components": components}
    if not Startup.tried:
        return JsonResponse(content | {"status": "starting"}, status=503)
    return JsonResponse(content)


async def _state(check: Any) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            state: dict[str, Any] = await check()
            return state
    except TimeoutError:
        return {"status": "missing", "why": f"no answer within {_PATIENCE_S:.0f} s"}
    except InferenceError as error:
        return {"status": "missing", "why": error.code.replace("_", " ")}
    except Exception as error:
        return {"status": "missing", "why": type(error).__name__}


async def _database() -> dict[str, Any]:
    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    await in_db(ask)()
    return {"status": "ok"}


async def _redis() -> dict[str, Any]:
    await dispatch.store().redis.ping()  # type: ignore[misc]
    return {"status": "ok"}


async def _tokenizer() -> dict[str, Any]:
    await in_db(prompts.tokenizer)()
    return {"status": "ok"}


async def _engine() -> dict[str, Any]:
    hosts = await dispatch.hosts()
    ready = sum(host.state == "ready" for host in hosts)
    status = "ok" if ready else "warming" if hosts else "missing"
    state: dict[str, Any] = {"status": status, "hosts": ready, "engine": settings.ENGINE}
    if not ready:
        state["why"] = "a host is starting" if hosts else "no engine host is alive"
    return state
