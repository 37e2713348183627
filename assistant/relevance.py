"""Which facts a question is about, by plain words: the prompt shows those next to the question.

A small model quotes what stands closest and overlooks the rest. Only the place of a fact in the
prompt follows from this, never its presence: a larger model finds the others all the same.
"""

import difflib
import re
import unicodedata
from functools import lru_cache

#: Words by topic, as patterns over the question in lower case with its spelling mended.
_WORDS: dict[str, tuple[str, ...]] = {
    "stage": (
        r"status|stage|update|progress|\btrack|news|anything new|happen(?:ed|ing|s)\b|going on",
        r"taking place|state of|how far|already|ready|order (?:is )?doing",
        r"on (?:the|its|it'?s) (?:road|way)",
        r"en route|transit|pick(?:ed|s)?\b.*\bup\b|collected|being (?:cooked|made|prepared)",
        r"still (?:in|at|being|cooking|preparing)|deliver(?:ed|y) yet|been delivered",
        r"out for delivery|dispatch|shipped|sent out|whereabouts|start(?:ed)?\b|accept",
        r"confirmed|received|begun|finished|\bdone\b|\bleft\b|\bcoming\b(?! from)|situation",
        r"nearly here|look(?:s|ing)? like|placed|gone through|go through",
        r"where(?:'?s| is| are|s)?\b(?!.*\b(?:from|made)\b)",
    ),
    "eta": (
        r"\bwh?en\b|\beta\b|arriv|what time|how (?:long|soon|quick)",
        r"how much (?:longer|more time|time)|minutes?\b|\bmins?\b|expect|(?<!amount )\bdue\b",
        r"much longer|will .*\bdelivered|estimate|hungry|time for|(?:be|get|getting|nearly) here",
        r"take long|waiting|\bsoon\b|hurry up|starving|\bwait\b",
    ),
    "late": (
        r"\blate\b|\blater\b|lateness|delay|(?:on|in) time|(?:so|too) long|promised|overdue|slow",
        r"taking ages|running behind|punctual|why the wait|hold.?up",
    ),
    "rider": (
        r"\bwho(?:'?s|m|ever)?\b(?!.*\b(?:cook|ma[dk]e|making|prepar|kitchen|restaurant|sold|sells))",
        r"rider|driver|courier|cyclist|biker|delivery (?:guy|man|person|woman|boy|partner)",
        r"person|bring(?:s|ing)? (?:it|my|the|me|this)|look out for",
        r"(?:some|any)(?:one|body) .*(?:assign|bring|com)",
    ),
    "contact": (
        r"\bcall\b(?!.* off)|reach|contact|phone|message|in touch|talk (?:to|with)|speak",
        r"\btext\b|\bring (?:him|her|them|the)\b|get hold of|connect me",
    ),
    "cancel": (
        r"cancel|\bcxl\b|call(?:ed|ing)? .*off|chang\w+ (?:my|our) mind|withdraw|undo|abort",
        r"annul|back out|(?:get|pull|getting) out of|(?:n'?t|no longer|not) (?:want|need)",
        r"take .*order back|revoke|(?:stop|drop|scrap|kill|reverse) (?:it|my|the|this)",
    ),
    "address": (
        r"address|location|destination|drop.?off|house number|apartment|postcode|redirect",
        r"elsewhere|(?:new|another|other|different|wrong) (?:city|town)",
        r"(?:new|another|other|different|wrong) (?:place|street|house|flat|door|building|number)",
        r"office|(?:some|any)where (?:else|different)|instead|\bmoved\b",
        r"where (?:it|my|the)\b.*\b(?:goes|going|deliver|sent)",
        r"(?:sent|send|deliver(?:ed)?|bring|go) .*\bto (?:my|a|an|another|the)\b",
    ),
    "restaurant": (
        r"restaurant|from where|\bwhere\b.*\b(?:from|made)\b|where did",
        r"(?:which|what) (?:place|kitchen)|\bcalled\b|\bchef\b|\bshop\b|eatery|vendor|takeaway",
        r"diner\b|place (?:is|was|did)|kitchen|name of the place|place (?:i|we|that)|\bcooks\b",
        r"made (?:this|my|the)\b|sold me|\bwho\b.*\b(?:cook|ma[dk]e|making|prepar)",
    ),
    "items": (
        r"what(?:'?s| is| was| were|s)? in\b|\bitems?\b|dish|\blist\b|content|in the bag|basket",
        r"consist|what (?:exactly )?(?:did|have|do) i|(?:read|repeat) .*order",
        r"what i (?:order|pick|chose|get|bought)|bought",
        r"i (?:picked|chose)|food is coming|everything",
        r"(?:which|what) (?:food|meal|things|products)|in my order|i ordered",
        r"what am i (?:getting|eating|having)|i'?m (?:getting|having)",
        r"how many .*(?:\border|get|things)|(?:my|the|this) order (?:includes?|comprises?)",
        r"order .*\binclude",
    ),
    "total": (
        r"total|price|\bcosts?\b|\bpay|\bpaid|amount|how much|charge|\bsum\b|\bbill\b|\bcard\b",
        r"came to|adds? up|damage|expens|spend|spent|altogether|all together|in all\b",
        r"money(?! back)|dollars|\bowe\b|\bworth|invoice|receipt",
    ),
    "fee": (
        r"\bfees?\b|shipping|deliver[a-z]* (?:cost|charge|price|free|part)",
        r"(?:cost|pay|paid|charged?|price|bill|much|free|part|extra|money)\b.*\b(?:deliver|bring)",
        r"expensive .*\bdeliver",
        r"deliver.*\b(?:costs?|pay|paid|free|charged?|bill|expensive|extra)\b",
    ),
    "refund": (
        r"refund|money back|reimburs|compensat|pay(?:ing)? (?:me )?back|(?:give|where) .*money",
        r"cash back",
    ),
    "kitchen": (
        r"allerg|\bnuts?\b|peanut|gluten|vegan|vegetarian|lactose|dairy|\bmilk|\beggs?\b|halal",
        r"kosher|ingredient|calori|contain|shellfish|sesame|\bsoy|wheat|\bdiet|diabet|pork|spicy",
        r"intoleran|made (?:of|with)|coeliac|celiac|organic|nutrition|\bsugar|safe (?:to|for)",
    ),
    "thanks": (
        r"\bthanks?\b|\bthx\b|\bty\b|\bcheers\b|you (?:are|were) (?:great|helpful)",
        r"^\W*(?:perfect|great|ok)\W*$",
    ),
    "hello": (
        r"^\W*(?:hi|hello|hey|g'?day|good (?:morning|evening|afternoon|day))\b[\w ]{0,12}\W*$",
    ),
    "unknown": (
        r"discount|promo|voucher|coupon|phone number|telephone|hotline|e-?mail|weather|joke|poem",
        r"password|\bjob\b|number (?:to|can|of|for)|opening|\bopen\b|\bcloses?\b|how old",
    ),
}
_PATTERNS = {topic: re.compile("|".join(words)) for topic, words in _WORDS.items()}

#: What is no courtesy.
_ASKED = set(_WORDS) - {"thanks", "hello"}
#: Topics that say nothing once one of these is there: "the delivery fee" is about the fee.
_NARROWER = {
    "stage": {"address", "cancel", "items", "refund", "kitchen"},
    "eta": {"fee", "late", "refund"},
    "late": {"cancel", "address"},
    "rider": {"contact", "address", "fee"},
    "restaurant": {"kitchen", "stage", "rider"},
    "items": {"restaurant", "total", "fee", "eta", "late", "kitchen"},
    "total": {"fee", "refund", "eta"},
}
#: What is not known stays so, whatever else the question names ("the restaurant's phone number").
_UNKNOWN = "unknown"

#: Each of these parts may ask for something else ("Where is it, and who brings it?").
_CLAUSE = re.compile(r"[.?!;,\n]|\band\b")

#: A question about an order that names no topic gets at least to know how it stands.
_ORDER = re.compile(
    r"\b(?:my|the|this|our) (?:order|food|meal|delivery|dinner|lunch|pizza|package)\b"
)

#: A question as short as this may be about what was asked before it ("And why?").
_SHORT = 6

_SPELLINGS = (
    *("address", "another", "arrive", "arrival", "cancel", "change", "charge", "cost", "courier"),
    *("delivery", "deliver", "delivered", "driver", "items", "price", "refund", "restaurant"),
    *("rider", "status", "total", "much", "what", "when", "where"),
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
    if not found and _ORDER.search(question.casefold()):
        return ("stage",)
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


@lru_cache(maxsize=4096)
def _spelt(word: str) -> str:
    """A first letter is seldom the wrong one, and "here" is not "where"."""
    known = [spelling for spelling in _SPELLINGS if spelling[0] == word[0]]
    turned = [spelling for spelling in known if sorted(spelling) == sorted(word)]
    if word in known:
        return word
    close = turned or difflib.get_close_matches(word, known, n=1, cutoff=0.82)
    return close[0] if close else word
