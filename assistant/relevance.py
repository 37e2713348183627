"""Which facts a question is about, by plain words: the prompt shows those next to the question.

A small model quotes what stands closest and overlooks the rest. Only the place of a fact in the
prompt follows from this, never its presence: a larger model finds the others all the same.
"""

import difflib
import re
import unicodedata

#: Words by topic, as patterns over the question in lower case with its spelling mended.
_WORDS: dict[str, tuple[str, ...]] = {
    "stage": (
        r"status|stage|update|progress|track|news|happen(?:ed|ing|s)\b|going on|how far|state of",
        r"already|ready|my order doing|order is doing|on the road|on (?:the|its) way|confirmed",
        r"picked up|being (?:cooked|made|prepared)|delivered yet|out for delivery",
        r"start(?:ed)?\b|accept|begun|finished",
        r"where(?:'?s| is| are|s)?\b(?!.*\bfrom\b)",
    ),
    "eta": (
        r"\bwh?en\b|\beta\b|arriv|what time|how (?:long|soon|much time)|minutes?|expect|due",
        r"much longer|will .*\bdelivered|estimate|hungry|time for|(?:be|get) here|take long",
        r"still waiting",
    ),
    "late": (
        r"\blate\b|later|lateness|delay|(?:on|in) time|(?:so|too) long|promised|overdue|slow",
        r"running behind|punctual",
    ),
    "rider": (
        r"\bwho(?:'?s|m)?\b(?!.*\b(?:cook|ma[dk]e|making|prepar|kitchen|restaurant))|rider|driver",
        r"courier|delivery (?:guy|man|person|woman|boy)|person|look out for",
        r"bring(?:s|ing) (?:it|my|the|me)",
    ),
    "contact": (
        r"\bcall\b(?!.* off)|reach|contact|phone|message|in touch|talk to|speak|\btext\b|\bring\b",
    ),
    "cancel": (
        r"cancel|call(?:ed|ing)? .*off|chang\w+ (?:my|our) mind|stop (?:my|the) order|withdraw",
        r"undo|get out of|(?:n'?t|no longer) (?:want|need)|take .*order back",
    ),
    "address": (
        r"address|(?:new|another|other|different|wrong) (?:place|location|street|house|flat|door)",
        r"office|elsewhere|somewhere else|instead|moved|redirect",
        r"where (?:it|my|the)\b.*\b(?:goes|deliver|sent)",
        r"(?:sent|send|deliver(?:ed)?|bring|go) .*\bto (?:my|a|an|another|the)\b",
    ),
    "restaurant": (
        r"restaurant|from where|\bwhere\b.*\bfrom\b|where did|(?:which|what) place|called|chef",
        r"shop|place (?:is|was|did)|kitchen|\bcooks\b",
        r"\bwho\b.*\b(?:cook|ma[dk]e|making|prepar)",
    ),
    "items": (
        r"what(?:'?s| is| was| were|s)? in\b|\bitems?\b|dish|\blist\b|content|in the bag|basket",
        r"what (?:did|have|do) i|what i (?:order|pick|chose|get|bought)|bought|i (?:picked|chose)",
        r"food is coming|everything|which (?:food|meal)|what food|what am i (?:getting|eating)",
        r"how many .*(?:order|get)|in my order|i ordered|having",
    ),
    "total": (
        r"total|price|\bcosts?\b|\bpay|paid|amount|how much|charge|\bsum\b|\bbill\b|\bcard\b",
        r"came to|damage|expens|spend|spent|altogether|money(?! back)",
    ),
    "fee": (
        r"\bfees?\b|shipping|deliver[a-z]* (?:cost|charge|price|free|part)",
        r"(?<!out )(?:for|of) (?:the )?deliver",
        r"(?:cost|pay|charge|price|bill|much|free|part)\b.*\b(?:deliver|bring)",
        r"deliver.*\b(?:cost|pay|free|charge|bill)",
    ),
    "refund": (r"refund|money back|reimburs|compensat|pay(?:ing)? (?:me )?back|give .*money",),
    "kitchen": (
        r"allerg|\bnuts?\b|peanut|gluten|vegan|vegetarian|lactose|dairy|\bmilk|\beggs?\b|halal",
        r"kosher|ingredient|calori|contain|shellfish|sesame|\bsoy|wheat|\bdiet|pork|spicy",
        r"made (?:of|with)|intoleran|coeliac|celiac|organic|nutrition|\bsugar|safe (?:to|for)",
    ),
    "thanks": (r"\bthanks?\b|\bthx\b|\bcheers\b|you (?:are|were) (?:great|helpful)",),
    "hello": (r"^\W*(?:hi|hello|hey|good (?:morning|evening|afternoon|day))\b[\w ]{0,12}\W*$",),
    "unknown": (
        r"discount|promo|voucher|coupon|phone number|telephone|hotline|e-?mail|weather|joke",
        r"\bjob\b|number (?:to|can|of|for)|opening|\bopen\b|\bcloses?\b|how old",
    ),
}
_PATTERNS = {topic: re.compile("|".join(words)) for topic, words in _WORDS.items()}

#: What is no courtesy.
_ASKED = set(_WORDS) - {"thanks", "hello"}
#: Topics that say nothing once one of these is there: "the delivery fee" is about the fee.
_NARROWER = {
    "stage": {"address", "cancel", "items", "refund", "kitchen"},
    "eta": {"fee", "late"},
    "late": {"cancel"},
    "rider": {"contact", "address", "fee"},
    "restaurant": {"kitchen", "stage"},
    "items": {"restaurant", "total", "fee", "late", "kitchen"},
    "total": {"fee", "refund"},
}
#: What is not known stays so, whatever else the question names ("the restaurant's phone number").
_UNKNOWN = "unknown"

#: Each of these parts may ask for something else ("Where is it, and who brings it?").
_CLAUSE = re.compile(r"[.?!;,\n]|\band\b")

#: A question as short as this may be about what was asked before it ("And why?").
_SHORT = 6

_SPELLINGS = (
    *("address", "another", "arrive", "arrival", "cancel", "change", "charge", "cost", "courier"),
    *("delivery", "deliver", "delivered", "driver", "items", "price", "refund", "restaurant"),
    *("rider", "status", "total"),
)


def topics_of(question: str, before: str = "") -> tuple[str, ...]:
    """The topics that the question names; often one, sometimes none.

    A short question that names none ("And why?") is about what was asked ``before``.
    """
    found: set[str] = set()
    for clause in _CLAUSE.split(_mended(question)):
        found |= _topics_in(clause)
    if not found and before and len(question.split()) < _SHORT:
        return topics_of(before)
    found = found & _ASKED or found
    return tuple(topic for topic in _PATTERNS if topic in found)


def _topics_in(clause: str) -> set[str]:
    found = {topic for topic, pattern in _PATTERNS.items() if pattern.search(clause)}
    if _UNKNOWN in found:
        return {_UNKNOWN}
    return {topic for topic in found if not _NARROWER.get(topic, set()) & found}


def _mended(text: str) -> str:
    """Lower case, plain apostrophes, and what is one slip away from a word above spelt like it."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return re.sub(r"[^\W\d_]{4,}", lambda match: _spelt(match[0]), plain)


def _spelt(word: str) -> str:
    if word in _SPELLINGS:
        return word
    turned = [k for k in _SPELLINGS if k[0] == word[0] and sorted(k) == sorted(word)]
    close = turned or difflib.get_close_matches(word, _SPELLINGS, n=1, cutoff=0.82)
    return close[0] if close else word
