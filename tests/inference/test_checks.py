"""A bad setting stops the start-up with the id that the documentation explains."""

from typing import Any

import pytest
from django.conf import settings as current
from pytest_django import Settings

from inference.checks import _POSITIVE, check_settings


def ids() -> list[str | None]:
    return [problem.id for problem in check_settings(None)]


def test_the_defaults_are_good() -> None:
    assert ids() == []


@pytest.mark.parametrize("name", _POSITIVE)
@pytest.mark.parametrize("value", [0, -1])
def test_what_must_be_above_zero(settings: Settings, name: str, value: int) -> None:
    setattr(settings, name, value)
    problems = check_settings(None)
    assert "inference.E001" in [problem.id for problem in problems]
    assert any(name in problem.msg for problem in problems)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ENGINE", "llama", "inference.E002"),
        ("INFERENCE_FIRST_TOKEN_DEADLINE_S", 121.0, "inference.E003"),
        ("ENGINE_GPU_MEMORY_UTILIZATION", 0.0, "inference.E004"),
        ("ENGINE_GPU_MEMORY_UTILIZATION", 1.5, "inference.E004"),
        ("ENGINE_SCHEDULING_POLICY", "lifo", "inference.E005"),
        ("INFERENCE_MAX_RETRIES", -1, "inference.E006"),
        ("INFERENCE_MAX_RETRIES", 11, "inference.E006"),
        ("INFERENCE_TEXT_FILTER", "no.such.Filter", "inference.E007"),
        ("INFERENCE_TEXT_FILTER", "Filter", "inference.E007"),
        ("INFERENCE_COALESCE_S", -0.1, "inference.E008"),
        ("INFERENCE_DRAIN_S", -1.0, "inference.E008"),
        ("ENGINE_CPU_THREADS_BIND", "", "inference.E009"),
        ("ENGINE_CPU_THREADS_BIND", "0-", "inference.E009"),
        ("ENGINE_CPU_THREADS_BIND", "all", "inference.E009"),
        ("ENGINE_SPECULATIVE_CONFIG", [1], "inference.E010"),
    ],
)
def test_each_bad_value_has_its_id(
    settings: Settings, name: str, value: Any, expected: str
) -> None:
    setattr(settings, name, value)
    problems = check_settings(None)
    assert [problem.id for problem in problems] == [expected]
    assert all(problem.hint for problem in problems)


@pytest.mark.parametrize("value", ["auto", "nobind", "0", "0-1", "0,1", "0-3|4-7", "0,2|1,3"])
def test_bindings_that_vllm_takes(settings: Settings, value: str) -> None:
    settings.ENGINE_CPU_THREADS_BIND = value
    assert ids() == []


def test_the_host_runs_the_checks_without_a_database() -> None:
    from inference.management.commands.run_engine_host import Command

    assert Command.requires_system_checks == ["inference"]
    assert not Command.requires_migrations_checks
    assert current.INFERENCE_TEXT_FILTER
