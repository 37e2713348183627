"""The engines a host can run; ``make_engine`` picks the one in the settings."""

from inference.engines.base import Delta, Engine, EngineStats, Request

__all__ = ["Delta", "Engine", "EngineStats", "Request", "make_engine"]


def make_engine() -> Engine:
    from inference.conf import conf

    if conf().engine == "simulated":
        from inference.engines.simulated import SimulatedEngine

        return SimulatedEngine.from_settings()
    from inference.engines.vllm import VllmEngine

    return VllmEngine.from_settings()
