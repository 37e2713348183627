"""A bad setting stops the process at start-up and says what would mend it."""

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

_POSITIVE = (
    "INFERENCE_LEASE_S",
    "INFERENCE_PARTITIONS",
    "INFERENCE_FIRST_TOKEN_DEADLINE_S",
    "INFERENCE_TOTAL_DEADLINE_S",
    "INFERENCE_STALL_S",
    "INFERENCE_JOURNAL_TTL_S",
    "ENGINE_MAX_NUM_SEQS",
    "ENGINE_MAX_MODEL_LEN",
    "ENGINE_MAX_NUM_BATCHED_TOKENS",
    "ENGINE_BLOCK_SIZE",
    "ENGINE_CPU_KV_CACHE_GIB",
    "ENGINE_TENSOR_PARALLEL_SIZE",
    "ENGINE_PIPELINE_PARALLEL_SIZE",
    "ENGINE_SIMULATED_ANSWER_TOKENS",
    "ENGINE_SIMULATED_SPEED",
)

_CORES = r"\d+(-\d+)?(,\d+(-\d+)?)*"
_BINDING = re.compile(rf"auto|nobind|{_CORES}(\|{_CORES})*")


@register("inference")
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    for name in _POSITIVE:
        if getattr(settings, name) <= 0:
            problems.append(
                Error(
                    f"{name} is {getattr(settings, name)}.",
                    hint="Set it above 0.",
                    id="inference.E001",
                )
            )
    if settings.ENGINE not in ("vllm", "simulated"):
        problems.append(
            Error(
                f"ENGINE is {settings.ENGINE!r}.",
                hint="Set it to 'vllm' or 'simulated'.",
                id="inference.E002",
            )
        )
    if settings.INFERENCE_FIRST_TOKEN_DEADLINE_S > settings.INFERENCE_TOTAL_DEADLINE_S:
        problems.append(
            Error(
                "The first token's deadline is later than the whole answer's.",
                hint="Lower INFERENCE_FIRST_TOKEN_DEADLINE_S or raise INFERENCE_TOTAL_DEADLINE_S.",
                id="inference.E003",
            )
        )
    if not 0 < settings.ENGINE_GPU_MEMORY_UTILIZATION <= 1:
        problems.append(
            Error(
                f"ENGINE_GPU_MEMORY_UTILIZATION is {settings.ENGINE_GPU_MEMORY_UTILIZATION}.",
                hint="It is a share of the GPU's memory: above 0, at most 1.",
                id="inference.E004",
            )
        )
    if settings.ENGINE_SCHEDULING_POLICY not in ("fcfs", "priority"):
        problems.append(
            Error(
                f"ENGINE_SCHEDULING_POLICY is {settings.ENGINE_SCHEDULING_POLICY!r}.",
                hint="Set it to 'priority' or 'fcfs'.",
                id="inference.E005",
            )
        )
    if not 0 <= settings.INFERENCE_MAX_RETRIES <= 10:
        problems.append(
            Error(
                f"INFERENCE_MAX_RETRIES is {settings.INFERENCE_MAX_RETRIES}.",
                hint="Between 0 and 10 further attempts make sense.",
                id="inference.E006",
            )
        )
    try:
        import_string(settings.INFERENCE_TEXT_FILTER)
    except ImportError as error:
        problems.append(
            Error(
                f"INFERENCE_TEXT_FILTER cannot be imported: {error}.",
                hint="Name a class as 'package.module.Class'.",
                id="inference.E007",
            )
        )
    for name in ("INFERENCE_COALESCE_S", "INFERENCE_DRAIN_S"):
        if getattr(settings, name) < 0:
            problems.append(
                Error(
                    f"{name} is {getattr(settings, name)}.",
                    hint="Set it to 0 or above.",
                    id="inference.E008",
                )
            )
    if not _BINDING.fullmatch(settings.ENGINE_CPU_THREADS_BIND):
        problems.append(
            Error(
                f"ENGINE_CPU_THREADS_BIND is {settings.ENGINE_CPU_THREADS_BIND!r}.",
                hint="Set it to 'auto', 'nobind' or cores such as '0-3' or '0,2' ('|' between the "
                "shares of several workers).",
                id="inference.E009",
            )
        )
    if not isinstance(settings.ENGINE_SPECULATIVE_CONFIG, dict):
        problems.append(
            Error(
                "ENGINE_SPECULATIVE_CONFIG is no JSON object.",
                hint='Set it to {} or to vLLM\'s own, such as {"method": "ngram", …}.',
                id="inference.E010",
            )
        )
    return problems
