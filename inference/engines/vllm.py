"""vLLM's ``AsyncLLM`` in this process's event loop: the one module that imports vllm.

The host computes text from ids itself (``detokenize=False``): that is what makes a continuation on
another engine exact, and it spares the engine the work.
"""

import asyncio
import contextlib
import gc
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from django.conf import settings

from inference.conf import conf
from inference.engines.base import Delta, EngineStats, Request
from inference.errors import EngineAborted, EngineBusy, EngineDead, RequestRejected
from inference.model_store import resolve
from inference.tokenizer import ChatTokenizer, load_tokenizer

logger = logging.getLogger(__name__)

#: Seconds that a stopping engine may take before its processes are killed.
_SHUTDOWN_S = 20


def _on_cpu() -> bool:
    from vllm.platforms import current_platform

    return bool(current_platform.is_cpu())


def _prepare_environment() -> None:
    """vLLM reads these while it is imported, and its children inherit them."""
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_CONFIGURE_LOGGING", "0")  # its log goes to ours
    # Fork, the default on a GPU, would copy our threads' locks into the child.
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    os.environ["VLLM_RPC_BASE_PATH"] = str(_socket_folder())
    # The variables below matter on the CPU alone; setting them elsewhere does no harm.
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(settings.ENGINE_CPU_KV_CACHE_GIB))
    os.environ.setdefault("OMP_NUM_THREADS", str(cores))
    if settings.ENGINE_CPU_THREADS_BIND != "auto":
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", settings.ENGINE_CPU_THREADS_BIND)
    else:
        bound = ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", bound)


def _socket_folder() -> Path:
    """A folder for this process's sockets; those of dead processes go. vLLM leaves them behind."""
    root = Path(tempfile.gettempdir()) / f"quickbite-vllm-{os.getuid()}"
    own = root / str(os.getpid())
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in root.iterdir():
        if folder != own and not Path(f"/proc/{folder.name}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return own


def engine_arguments(model: Path | str) -> dict[str, Any]:
    """``AsyncEngineArgs`` from the ``ENGINE_*`` settings."""
    arguments: dict[str, Any] = {
        "model": str(model),
        "dtype": settings.ENGINE_DTYPE,
        "max_model_len": settings.ENGINE_MAX_MODEL_LEN,
        "max_num_seqs": settings.ENGINE_MAX_NUM_SEQS,
        "max_num_batched_tokens": settings.ENGINE_MAX_NUM_BATCHED_TOKENS,
        # Prefix hits come in whole blocks; the CPU's default of 128 wastes most of a short prompt.
        "block_size": settings.ENGINE_BLOCK_SIZE,
        "enable_prefix_caching": settings.ENGINE_PREFIX_CACHING,
        "enforce_eager": settings.ENGINE_ENFORCE_EAGER,
        "tensor_parallel_size": settings.ENGINE_TENSOR_PARALLEL_SIZE,
        "pipeline_parallel_size": settings.ENGINE_PIPELINE_PARALLEL_SIZE,
        "scheduling_policy": settings.ENGINE_SCHEDULING_POLICY,
        "kv_cache_dtype": settings.ENGINE_KV_CACHE_DTYPE,
        "seed": 0,
        "generation_config": "auto",
    }
    if settings.ENGINE_DISTRIBUTED_EXECUTOR:
        arguments["distributed_executor_backend"] = settings.ENGINE_DISTRIBUTED_EXECUTOR
    if settings.ENGINE_SPECULATIVE_CONFIG:
        arguments["speculative_config"] = settings.ENGINE_SPECULATIVE_CONFIG
    if settings.ENGINE_QUANTIZATION:
        arguments["quantization"] = settings.ENGINE_QUANTIZATION
    if not _on_cpu():
        arguments["gpu_memory_utilization"] = settings.ENGINE_GPU_MEMORY_UTILIZATION
    return arguments


class VllmEngine:
    name = "vllm"

    def __init__(self, model: Path | str, tokenizer: ChatTokenizer) -> None:
        self.tokenizer = tokenizer
        self._model = model
        self._llm: Any = None
        self._stats = EngineStats()
        self._generated = 0

    @classmethod
    def from_settings(cls) -> "VllmEngine":
        folder = resolve(conf().model)
        return cls(folder, load_tokenizer(folder))

    async def start(self) -> None:
        _prepare_environment()
        # Building blocks for many seconds; the loop goes on beating meanwhile.
        try:
            self._llm = await asyncio.to_thread(self._build)
        except Exception as error:
            raise EngineDead(f"the engine did not start: {error}") from error

    def _build(self) -> Any:
        if settings.ENGINE_DISTRIBUTED_EXECUTOR == "" and settings.ENGINE_TENSOR_PARALLEL_SIZE == 1:
            # A single-device engine needs no worker process: 640 MB and six seconds less.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(
            AsyncEngineArgs(**engine_arguments(self._model)),
            stat_loggers=[self._stat_logger()],
        )

    def _stat_logger(self) -> Any:
        from vllm.v1.metrics.loggers import StatLoggerBase

        engine = self

        class Stats(StatLoggerBase):  # type: ignore[misc]
            def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
                pass

            def log_engine_initialized(self) -> None:
                pass

            def record(
                self,
                scheduler_stats: Any,
                iteration_stats: Any,
                mm_cache_stats: Any = None,
                engine_idx: int = 0,
            ) -> None:
                if scheduler_stats is not None:
                    engine._stats = EngineStats(
                        running=scheduler_stats.num_running_reqs,
                        waiting=scheduler_stats.num_waiting_reqs,
                        kv_cache_usage=scheduler_stats.kv_cache_usage,
                    )

        return Stats

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        from vllm.exceptions import GracefulHTTPError, VLLMClientError
        from vllm.inputs import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        try:
            outputs = self._llm.generate(
                tokens_input(prompt_token_ids=[*request.prompt_ids, *request.generated]),
                _sampling_params(request),
                request_id=request.id,
                priority=request.priority,
            )
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    completion = output.outputs[0]
                    if completion.finish_reason == "abort":
                        raise EngineAborted("the engine aborted a request on its own")
                    self._generated += len(completion.token_ids)
                    yield Delta(
                        ids=tuple(completion.token_ids),
                        finish_reason=completion.finish_reason,
                        cached_tokens=output.num_cached_tokens or 0,
                    )
        except (VLLMClientError, TypeError, OverflowError) as error:
            raise RequestRejected(str(error)) from error
        except GracefulHTTPError as error:
            raise EngineBusy(str(error)) from error
        except EngineDeadError as error:
            raise EngineDead(str(error)) from error
        except EngineGenerateError as error:
            raise RequestRejected(repr(error.__cause__ or error)) from error

    def stats(self) -> EngineStats:
        return EngineStats(
            running=self._stats.running,
            waiting=self._stats.waiting,
            kv_cache_usage=self._stats.kv_cache_usage,
            tokens_generated=self._generated,
        )

    async def check(self) -> None:
        # check_health stays green while the engine core hangs; this is a call to its busy loop.
        if self._llm is None or self._llm.errored:
            raise EngineDead("the engine core is gone")
        try:
            await self._llm.is_paused()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise EngineDead(f"the engine core does not answer: {error}") from error

    async def shutdown(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None:
            # It only returns after some seconds; the loop goes on meanwhile.
            await asyncio.to_thread(llm.shutdown, _SHUTDOWN_S)
            shutil.rmtree(os.environ["VLLM_RPC_BASE_PATH"], ignore_errors=True)
            # Its finaliser shuts down again; at the interpreter's exit that would fail, loudly.
            del llm
            gc.collect()


def _sampling_params(request: Request) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    done, sampling = len(request.generated), request.sampling
    return SamplingParams(
        max_tokens=sampling.max_tokens - done,
        min_tokens=max(0, sampling.min_tokens - done),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        repetition_penalty=sampling.repetition_penalty,
        seed=sampling.seed,
        stop_token_ids=list(sampling.stop_token_ids),
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
    )
