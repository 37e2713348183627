"""What can go wrong while a model is prepared; each message is one line with the mend."""

from inference.errors import InferenceError


class ModelError(InferenceError):
    """The model cannot be prepared; the text is meant for the person at the terminal."""

    code = "model_error"
    retry = False


class SourceUnavailable(ModelError):
    """None of a model's sources can be reached: another model may take its place."""


class ChecksumMismatch(ModelError):
    """Bytes arrived that are not the published ones. Never used, never a reason to fall back."""


class NoSpace(ModelError):
    """The disk is too full for the download and the converted checkpoint."""


class ConversionFailed(ModelError):
    """The bytes are right, but turning them into a checkpoint failed."""
