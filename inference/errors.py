"""Everything that can go wrong between a prompt and its answer.

``retry`` says whether the same job may succeed on another host.
"""


class InferenceError(Exception):
    """Root of this app's errors."""

    code = "inference_error"
    retry = True


class RequestRejected(InferenceError):
    """The engine will never take this request (a prompt too long, a bad sampling value)."""

    code = "rejected"
    retry = False


class EngineBusy(InferenceError):
    """This engine has no room now; another may."""

    code = "engine_busy"


class EngineAborted(InferenceError):
    """The engine ended a request that nobody asked to end; the answer goes on elsewhere."""

    code = "engine_aborted"


class EngineDead(InferenceError):
    """The engine cannot go on; its host gives its leases back and exits."""

    code = "engine_dead"


class LeaseLost(InferenceError):
    """The fence has risen: somebody else owns the job now, or it is finished."""

    code = "lease_lost"


class JournalGap(InferenceError):
    """The journal holds less or more than the writer expects.

    It holds ``length`` tokens and ``chars`` code points; the writer sends the rest again.
    """

    code = "journal_gap"

    def __init__(self, length: int, chars: int = 0) -> None:
        super().__init__(f"the journal holds {length} tokens and {chars} code points")
        self.length = length
        self.chars = chars


class MalformedEntry(InferenceError):
    """A job or journal entry that this version cannot read (a rolling upgrade, a stray write)."""

    code = "malformed"
    retry = False


class ModelNotPrepared(InferenceError):
    """The model's files are not on this machine."""

    code = "model_not_prepared"
    retry = False
