"""vLLM's ``AsyncLLM`` in this process's event loop: the one module that imports vllm.

The host computes text from ids itself (``detokenize=False``): that is what makes a continuation on
another engine exact, and it spares the engine the work.
"""

import asyncio
import contextlib
import logging
import multiprocessing
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
    if _on_cpu():
        _prepare_cpu()


def _prepare_cpu() -> None:
    """The engine core reads these in a process of its own, so that torch may be imported here."""
    workers = settings.ENGINE_TENSOR_PARALLEL_SIZE * settings.ENGINE_PIPELINE_PARALLEL_SIZE
    cores = sorted(os.sched_getaffinity(0))
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(settings.ENGINE_CPU_KV_CACHE_GIB))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(cores) // workers)))
    if workers == 1 and not settings.ENGINE_DISTRIBUTED_EXECUTOR:
        # A single engine needs no worker process: 640 MB and six seconds less.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    bind = settings.ENGINE_CPU_THREADS_BIND
    if bind == "auto":
        # vLLM's own "auto" computes on one of two cores; each worker gets an equal share of all.
        shares = [cores[rank::workers] or cores for rank in range(workers)]
        bind = "|".join(",".join(map(str, share)) for share in shares)
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", bind)


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
        self.max_model_len: int = settings.ENGINE_MAX_MODEL_LEN
        self._model = model
        self._llm: Any = None
        self._stats = EngineStats()
        self._open = 0
        self._generated = 0

    @classmethod
    def from_settings(cls) -> "VllmEngine":
        folder = resolve(conf().model)
        return cls(folder, load_tokenizer(folder))

    async def start(self) -> None:
        # Importing and building block for many seconds; the loop goes on beating meanwhile.
        building = asyncio.ensure_future(asyncio.to_thread(self._build))
        try:
            self._llm = await asyncio.shield(building)
        except asyncio.CancelledError:
            await self._abandon(building)
            raise
        except Exception as error:
            raise EngineDead(f"the engine did not start: {error}") from error

    async def _abandon(self, building: "asyncio.Future[Any]") -> None:
        """A thread cannot be stopped, but without its child processes the building fails soon."""
        while not building.done():
            for child in multiprocessing.active_children():
                child.kill()
            await asyncio.sleep(0.1)
        if building.exception() is None:
            self._llm = building.result()
            await self.shutdown()

    def _build(self) -> Any:
        _prepare_environment()
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

        llm = self._llm
        if llm is None:
            raise EngineDead("the engine does not run")
        try:
            sampling = _sampling_params(request)
        except (VLLMClientError, TypeError, OverflowError, ValueError) as error:
            raise RequestRejected(str(error)) from error
        ended = False
        self._open += 1
        try:
            outputs = llm.generate(
                tokens_input(prompt_token_ids=[*request.prompt_ids, *request.generated]),
                sampling,
                request_id=request.id,
                priority=request.priority,
            )
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    completion = output.outputs[0]
                    ended = completion.finish_reason is not None
                    if completion.finish_reason == "abort":
                        raise EngineAborted("the engine aborted a request on its own")
                    self._generated += len(completion.token_ids)
                    yield Delta(
                        ids=tuple(completion.token_ids),
                        finish_reason=completion.finish_reason,
                        cached_tokens=output.num_cached_tokens or 0,
                    )
        except VLLMClientError as error:
            ended = True
            raise RequestRejected(str(error)) from error
        except GracefulHTTPError as error:
            ended = True
            raise EngineBusy(str(error)) from error
        except EngineDeadError as error:
            ended = True
            raise EngineDead(str(error)) from error
        except EngineGenerateError as error:
            if isinstance(error.__cause__, TypeError | ValueError | OverflowError):
                raise RequestRejected(repr(error.__cause__)) from error
            # Whatever it was, another engine may not stumble over it; the attempts are counted.
            raise EngineAborted(repr(error.__cause__ or error)) from error
        finally:
            self._open -= 1
            if not ended:
                # vLLM aborts what it is reading from, but not a request that was cancelled while
                # it was being added (vllm#57061): that one would keep its slot to the end.
                await asyncio.shield(llm.abort(request.id))

    def stats(self) -> EngineStats:
        return EngineStats(
            running=self._open,
            waiting=self._stats.waiting,
            kv_cache_usage=self._stats.kv_cache_usage,
            tokens_generated=self._generated,
        )

    async def check(self) -> None:
        # check_health stays green while the engine core hangs; this is a call to its busy loop.
        if self._llm is None or self._llm.errored:
            raise EngineDead("the engine core is gone")
        ping = asyncio.ensure_future(self._llm.is_paused())
        try:
            # A call that was under way when the core died is never answered.
            while not (await asyncio.wait({ping}, timeout=0.2))[0]:
                if self._llm is None or self._llm.errored:
                    raise EngineDead("the engine core is gone")
            await ping
        except EngineDead:
            raise
        except Exception as error:
            raise EngineDead(f"the engine core does not answer: {error}") from error
        finally:
            ping.cancel()

    async def shutdown(self) -> None:
        llm, self._llm = self._llm, None
        if llm is None:
            return
        # No output is awaited any more; its reader would report the end as an error.
        if llm.output_handler is not None:
            llm.output_handler.cancel()
        # It only returns after some seconds; the loop goes on meanwhile.
        await asyncio.to_thread(llm.shutdown, _SHUTDOWN_S)
        # Its finaliser shuts down again; at the interpreter's exit that would fail, loudly.
        llm.shutdown = _nothing
        shutil.rmtree(os.environ["VLLM_RPC_BASE_PATH"], ignore_errors=True)


def _nothing(*args: Any) -> None:
    pass


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
