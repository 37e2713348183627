"""What can go wrong between a customer and an answer.

``text`` is what the customer may read; ``code`` is what programs compare. An error that kept the
customer's words from being taken never loses them: the widget keeps the draft.
"""


class AssistantError(Exception):
    """Root of this app's errors."""

    code = "assistant_error"
    text = "Something went wrong on our side. Your message is kept; please try again."
    retry = True
    #: What the error is about, when that is known before the frame could be read.
    client_id: str | None = None

    def __init__(self, text: str | None = None) -> None:
        super().__init__(text or self.text)
        if text is not None:
            self.text = text


class InvalidFrame(AssistantError):
    code = "invalid_frame"
    text = "The chat sent something that we could not read. Reloading the page may help."
    retry = False


class UnknownFrame(InvalidFrame):
    code = "unknown_frame"


class BinaryFrame(InvalidFrame):
    code = "binary_frame"


class FrameTooLarge(InvalidFrame):
    code = "frame_too_large"


class NotOpen(InvalidFrame):
    code = "not_open"
    text = "The chat is not open yet. Please wait a moment."
    retry = True


class EmptyQuestion(AssistantError):
    code = "empty"
    text = "Please write your question first."
    retry = False


class QuestionTooLong(AssistantError):
    code = "too_long"
    retry = False

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"Your message has {length:,} characters; {limit:,} is the most. Please shorten it."
        )


class UnreadableCharacters(AssistantError):
    code = "unreadable_characters"
    text = "Your message has characters that we cannot read. Please remove them and try again."
    retry = False


class NoWords(AssistantError):
    code = "no_words"
    text = "Please add a few words, so that we know how to help."
    retry = False


class SessionExpired(AssistantError):
    code = "session_expired"
    text = "You have been signed out. Please sign in again; your message is kept."
    retry = False


class NotACustomer(AssistantError):
    code = "not_a_customer"
    text = "Please sign in as a customer to use the chat."
    retry = False


class ConversationNotFound(AssistantError):
    """Also for someone else's: nobody learns whether it exists."""

    code = "conversation_not_found"
    text = "This conversation could not be found."
    retry = False


class MessageNotFound(AssistantError):
    code = "message_not_found"
    text = "This message could not be found."
    retry = False


class OrderNotFound(AssistantError):
    code = "order_not_found"
    text = "This order could not be found among yours."
    retry = False


class AnswerInProgress(AssistantError):
    code = "answer_in_progress"
    text = "We are still answering your last question. Please wait for it, or stop it."


class NothingToRetry(AssistantError):
    code = "nothing_to_retry"
    text = "This answer is complete; please ask a new question."
    retry = False


class ConversationMoved(AssistantError):
    """The epoch has changed: somebody else holds the conversation now."""

    code = "conversation_moved"
    text = "The conversation has just changed hands. Please look again."


class ServiceUnavailable(AssistantError):
    """The database or Redis is away; nothing was taken."""

    code = "unavailable"
    text = "We cannot take your message at this moment. It is kept; please try again shortly."


class PromptPartTooLong(AssistantError):
    code = "prompt_too_long"
    retry = False


# ---- staff ---------------------------------------------------------------------------------------


class CachedAnswerError(AssistantError):
    """A change to the cached answers was refused; nothing was changed."""

    code = "cached_answer"
    retry = False


class InvalidTemplate(CachedAnswerError):
    code = "invalid_template"

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


class InvalidKey(CachedAnswerError):
    """No order can ever be in this state, or the sub-intent belongs to another category."""

    code = "invalid_key"


class KeyTaken(CachedAnswerError):
    code = "key_taken"

    def __init__(self, other: int | None) -> None:
        which = f"answer {other}" if other else "another answer"
        super().__init__(
            f"For this category, state and language {which} is live already; "
            "change that one, or retire it first."
        )
        self.other = other


class MayNotPublish(CachedAnswerError):
    code = "may_not_publish"
    text = "You may write drafts; publishing, retiring and rolling back need the right to publish."


class AnswerChanged(CachedAnswerError):
    """Someone else saved meanwhile."""

    code = "answer_changed"
    text = "Someone has saved this answer since you opened it. Your text is kept below; compare."
