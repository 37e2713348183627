"""What a customer may send as text, and what is said when not."""

import unicodedata

from django.conf import settings

from assistant.errors import EmptyQuestion, NoWords, QuestionTooLong, UnreadableCharacters

#: Control characters that text may hold: tab and line breaks.
_ALLOWED_CONTROLS = "\t\n\r"
#: Invisible characters that reorder or hide text; dropped, since keyboards add some of them.
_INVISIBLE = dict.fromkeys(
    [0x200B, 0x2060, 0xFEFF, 0x00AD, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)


def clean_question(text: str) -> str:
    """The question in NFC without invisible marks and outer blanks.

    Raises ``EmptyQuestion``, ``QuestionTooLong``, ``UnreadableCharacters`` or ``NoWords`` (emoji
    and punctuation alone give the assistant nothing to answer).
    """
    limit = settings.ASSISTANT_MAX_QUESTION_CHARS
    for character in text:
        category = unicodedata.category(character)
        if category == "Cs" or (category == "Cc" and character not in _ALLOWED_CONTROLS):
            raise UnreadableCharacters
    cleaned = unicodedata.normalize("NFC", text).translate(_INVISIBLE).replace("\r\n", "\n").strip()
    if not cleaned:
        raise EmptyQuestion
    if len(cleaned) > limit:
        raise QuestionTooLong(len(cleaned), limit)
    if not any(unicodedata.category(character)[0] in "LN" for character in cleaned):
        raise NoWords
    return cleaned
