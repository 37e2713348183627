"""What the probes say, with everything there and with something missing."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.test import AsyncClient

from inference import dispatch
from inference.store import HostState, JobStore
from quickbite_support import health, startup

pytestmark = pytest.mark.django_db(transaction=True)

Probe = Callable[[], Awaitable[dict[str, Any]]]


@pytest.fixture
def readyz(monkeypatch: pytest.MonkeyPatch) -> Probe:
    monkeypatch.setattr(startup.Startup, "tried", True)

    async def ask() -> dict[str, Any]:
        response = await AsyncClient().get("/readyz")
        assert response.status_code == 200
        found: dict[str, Any] = response.json()
        return found

    return ask


async def test_alive_needs_nothing() -> None:
    response = await AsyncClient().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("state", "status"), [("ready", "ok"), ("starting", "warming"), ("draining", "warming")]
)
async def test_the_engine_is_as_its_hosts_say(
    store: JobStore, readyz: Probe, state: str, status: str
) -> None:
    model = dispatch.current_model()
    host = HostState(host="h", incarnation="i", engine="simulated", model=model, state=state)
    await store.beat(host)
    found = await readyz()
    assert found["components"]["engine"]["status"] == status
    assert found["status"] == ("ok" if status == "ok" else "degraded")


async def test_without_a_host_the_service_is_degraded_and_says_why(
    store: JobStore, readyz: Probe
) -> None:
    found = await readyz()
    assert found["status"] == "degraded"
    assert found["components"]["engine"] == {
        "status": "missing",
        "hosts": 0,
        "engine": "simulated",
        "why": "no engine host is alive",
    }
    assert found["components"]["database"] == {"status": "ok"}


async def test_what_is_missing_is_named_and_nothing_is_leaked(
    store: JobStore, readyz: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> dict[str, Any]:
        raise ConnectionError("redis://user:secret@10.0.0.1 is away")

    monkeypatch.setattr(health, "_redis", away)
    found = await readyz()
    assert found["components"]["redis"] == {"status": "missing", "why": "ConnectionError"}
    assert "secret" not in str(found)


async def test_a_hanging_service_does_not_hang_the_probe(
    store: JobStore, readyz: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    async def hanging() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    monkeypatch.setattr(health, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(health, "_database", hanging)
    found = await readyz()
    assert "no answer" in found["components"]["database"]["why"]


async def test_start_up_work_may_fail_and_is_tried_again(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    seen: list[object] = []

    def missing() -> list[int]:
        seen.append("missing")
        raise RuntimeError("no database yet")

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)

    monkeypatch.setattr(startup.Startup, "tried", False)
    monkeypatch.setattr(startup.Startup, "done", False)
    monkeypatch.setattr(startup.prompts, "prefix_ids", missing)
    assert (await AsyncClient().get("/readyz")).status_code == 503
    wrapped = startup.WithStartup(application)
    await wrapped("first", None, None)
    await wrapped("second", None, None)
    async with asyncio.timeout(5):
        while not startup.Startup.tried:
            await asyncio.sleep(0.01)
    assert sorted(map(str, seen)) == ["first", "missing", "second"]
    # It serves, says what is missing, and tries again.
    assert (await AsyncClient().get("/readyz")).status_code == 200
    monkeypatch.setattr(startup.prompts, "prefix_ids", lambda: [1, 2, 3])
    async with asyncio.timeout(5):
        while not await store.prefix(dispatch.current_model()):
            await asyncio.sleep(0.05)
    assert startup.Startup.done
    assert wrapped.started is not None
    wrapped.started.cancel()
