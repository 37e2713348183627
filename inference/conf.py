"""The settings of inference, read once into frozen values."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.core.signals import setting_changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """Durations are seconds unless a name says otherwise."""

    redis_url: str
    partitions: int
    lease_s: float
    max_retries: int
    coalesce_s: float
    first_token_s: float
    total_s: float
    journal_ttl_s: int
    stall_s: float
    drain_s: float
    text_filter: str
    engine: str
    model: str
    max_num_seqs: int

    #: A host that has not been heard of for so long counts as gone.
    host_silence_s: float = 5.0
    #: How often an idle host looks for work that no doorbell announced.
    poll_s: float = 0.25


@lru_cache(maxsize=1)
def conf() -> Conf:
    return Conf(
        redis_url=settings.INFERENCE_REDIS_URL,
        partitions=settings.INFERENCE_PARTITIONS,
        lease_s=settings.INFERENCE_LEASE_S,
        max_retries=settings.INFERENCE_MAX_RETRIES,
        coalesce_s=settings.INFERENCE_COALESCE_S,
        first_token_s=settings.INFERENCE_FIRST_TOKEN_DEADLINE_S,
        total_s=settings.INFERENCE_TOTAL_DEADLINE_S,
        journal_ttl_s=settings.INFERENCE_JOURNAL_TTL_S,
        stall_s=settings.INFERENCE_STALL_S,
        drain_s=settings.INFERENCE_DRAIN_S,
        text_filter=settings.INFERENCE_TEXT_FILTER,
        engine=settings.ENGINE,
        model=settings.QUICKBITE_MODEL,
        max_num_seqs=settings.ENGINE_MAX_NUM_SEQS,
    )


def models_dir() -> Path:
    return Path(settings.VAR_DIR) / "models"


def _forget(**kwargs: object) -> None:
    conf.cache_clear()


setting_changed.connect(_forget, dispatch_uid="inference.conf.forget")
