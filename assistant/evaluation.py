"""Is an answer right? A check of model answers against the ``facts`` that they may use.

It reads the displayed values alone, never the sentences that the prompt offers, so that a fault in
those shows up here. Pure; what it returns is why the answer is wrong, nothing when it is right.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

Facts = Mapping[str, Any]

_MONEY = re.compile(r"[$€£]\s?\d[\d,]*(?:\.\d+)?")
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}(?:\s?[AP]M)?", re.IGNORECASE)
_MINUTES = re.compile(r"\b(\d+)(?:\s+\w+)?\s+min(?:ute)?s?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\bQB-\d+")
_PHONE = re.compile(r"\+?\(?\d[\d ()-]{6,}\d")
_LINK = re.compile(r"https?://|www\.|\S@\S+\.\w|\b[\w-]+\.(?:com|org|net|io)\b", re.IGNORECASE)
_AS_CUSTOMER = re.compile(
    r"\bmy (?:order|food|rider|address|meal|delivery)\b"
    r"|\bI (?:ordered|paid|have ordered)\b|\bmine\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^\W*no\b|\b(?:can(?:no|['’])t|can ?not|cannot|can no longer|no longer|not possible|unable"
    r"|not able|too late|not be|isn['’]t possible|may not)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:(?:do|did|does|can)(?: not|n['’]t)|cannot|can['’]?t) (?:\w+ )?"
    r"(?:know|have|answer|tell|say|find|provide|confirm|give|see|share)"
    r"|\bnot (?:sure|certain|know|available|known)\b|\bunsure\b"
    r"|\bno (?:information|details?|phone|discount)\b|\bcolleague\b|\bperson from\b|\bunable\b",
    re.IGNORECASE,
)
_KITCHEN_CLAIM = re.compile(
    r"\b(?:(?:does|do|is|are|it|they)(?:(?: not|n['’]t)| also)? (?:contains?|includes?)\b"
    r"|(?:is|are|it['’]s)(?: not)? (?:safe|vegan|vegetarian|gluten|nut|dairy|free of|made with)"
    r"|contains? no\b|there are (?:no )?(?:nuts|peanuts)|(?:gluten|nut|dairy|peanut)-free)",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"\b(?:I|we)(?:['’]ll| will| have| can|['’]ve)(?: \w+)? "
    r"(?:refund|cancel(?:led)?\b|compensat|changed? (?:the|your))"
    r"|\byou(?:['’]ll| will) (?:get|receive|be given)[\w ]{0,20}(?:refund|money|compensation)"
    r"|\b(?:your|the) (?:refund|compensation) (?:is|has been|was) approved",
    re.IGNORECASE,
)

#: Capitalised inside a sentence without being a name.
_ORDINARY = {"Your", "AM", "PM", "I", "QB"}

#: What an answer about an order's stage says, by the state it is in.
_STAGE: dict[str, str] = {
    "placed": r"not (?:yet )?accepted|n['’]t (?:yet )?accepted|\bplaced\b|to accept",
    "accepted": r"\baccepted\b|start preparing",
    "preparing": r"\bprepar|\bkitchen\b|\bcook",
    "ready": r"\bready\b|at the restaurant",
    "on_the_way": r"on (?:the|its) way|picked (?:it |the order |your order )?up",
    "nearby": r"\bnear|almost there|on (?:the|its) way",
    "arrived": r"\barrived\b|\boutside\b|at your (?:address|door)",
    "delivered": r"(?<!not )(?<!not been )\bdelivered\b",
    "cancelled": r"\bcancell?ed\b",
    "failed": r"not (?:been )?delivered|n['’]t (?:been )?delivered|\bfailed\b",
}
#: A claim that the order is in a state, in words that mean nothing else.
_CLAIMS: dict[str, str] = {
    "delivered": r"\b(?:was|is|been|were|already)(?: already| successfully)? delivered\b",
    "cancelled": r"\b(?:was|is|has been|already|has already been) cancell?ed\b",
    "picked_up": r"\bon (?:the|its) way\b(?! to the restaurant)|\bhas (?:already )?picked\b",
    "arrived": r"\b(?:has|have) arrived\b|waiting outside",
}

#: A sentence with one of these claims nothing about the state.
_HEDGED = r"\bnot\b|n't|\bonce\b|\bwhen\b|\bif\b|\bcannot\b|\buntil\b"


def stage_of(facts: Facts) -> str:
    """One word for where the order is, from its status and delivery state."""
    status, delivery = facts["status"], facts["delivery_state"]
    if status == "cancelled":
        return "cancelled"
    if delivery in ("on_the_way", "nearby", "arrived", "delivered", "failed"):
        return str(delivery)
    return "on_the_way" if status == "picked_up" else str(status)


def wrong(
    topic: str, answer: str, facts: Facts | None, *, other_names: Iterable[str] = ()
) -> list[str]:
    """Why an answer to a question about ``topic`` is wrong; empty when it is right.

    ``other_names`` are riders, restaurants and dishes that the answer must not name unless they
    are this order's. ``facts`` is None for a customer who has no order.
    """
    text = " ".join(answer.split()).replace("’", "'")
    if not text:
        return ["empty"]
    found = _invented(text, facts or {}, other_names)
    if topic == "allergens":
        return found + _about_allergens(text)
    if topic == "unknown" or facts is None:
        return found + ([] if _UNSURE.search(text) else ["does not say that it does not know"])
    return found + _false_claims(text, facts) + _TOPICS[topic](text, facts)


def names_in(texts: Iterable[str]) -> set[str]:
    """Capitalised words inside sentences, such as an example's rider and restaurant."""
    found: set[str] = set()
    for text in texts:
        found |= set(re.findall(r"(?<=[\w,×] )[A-Z]\w+(?: [A-Z]\w+)*", text))
    return found - _ORDINARY


def _invented(text: str, facts: Facts, other_names: Iterable[str]) -> list[str]:
    known = _flat(facts).replace("’", "'")
    found = [
        f"{what} {match} is not in the facts"
        for what, pattern in (("amount", _MONEY), ("time", _CLOCK), ("order", _NUMBER))
        for match in pattern.findall(text)
        if match not in known and match not in ("$0", "$0.00", "€0.00", "£0.00")
    ]
    minutes = {str(facts.get("expected_in_minutes")), str(facts.get("minutes_late"))}
    said = _MINUTES.findall(text)
    found += [f"{count} minutes are not in the facts" for count in said if count not in minutes]
    strangers = [name for name in other_names if not _says(name, known)]
    found += [f"names {name}" for name in strangers if _says(name, text)]
    if _PHONE.search(_CLOCK.sub("", _NUMBER.sub("", text))):
        found.append("gives a phone number")
    if _LINK.search(text):
        found.append("gives a link")
    if _AS_CUSTOMER.search(text):
        found.append("speaks as the customer")
    if _PROMISE.search(text):
        found.append("promises what only a person may")
    return found


def _flat(facts: Facts) -> str:
    parts: list[str] = []
    for value in facts.values():
        if isinstance(value, Mapping):
            parts.append(_flat(value))
        elif isinstance(value, list | tuple):
            parts += map(str, value)
        elif value is not None:
            parts.append(str(value))
    return " | ".join(parts)


def _says(phrase: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None


def _false_claims(text: str, facts: Facts) -> list[str]:
    """States that the answer claims and the order is not in."""
    stage = stage_of(facts)
    picked_up = stage in ("on_the_way", "nearby", "arrived", "delivered", "failed", "cancelled")
    true = {
        "delivered": stage == "delivered",
        "cancelled": stage == "cancelled",
        "picked_up": picked_up,
        "arrived": stage in ("arrived", "delivered"),
    }
    plain = [part for part in _sentences(text) if not re.search(_HEDGED, part)]
    return [
        f"claims {claim}"
        for claim, pattern in _CLAIMS.items()
        if not true[claim] and any(_has(part, pattern) for part in plain)
    ]


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s", text)


# ---- by topic ------------------------------------------------------------------------------------


def _has(text: str, *alternatives: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in alternatives)


def _total(text: str, facts: Facts) -> list[str]:
    return [] if facts["total"] in text else ["total missing"]


def _fee(text: str, facts: Facts) -> list[str]:
    free = facts["delivery_fee"].strip("$€£") == "0.00"
    if not free and _has(text, r"\bdelivery (?:is|was) free"):
        return ["says free"]
    said_free = free and _has(text, r"\bfree\b|no (?:delivery )?(?:fee|charge)")
    return [] if said_free or facts["delivery_fee"] in text else ["fee missing"]


def _eta(text: str, facts: Facts) -> list[str]:
    if stage_of(facts) in ("delivered", "cancelled", "failed", "arrived"):
        return _stage(text, facts)
    if facts["expected_at"] is None:
        unknown = _has(text, r"no estimate|\bnot? .{0,20}(?:known|estimate)")
        return [] if unknown else ["does not say that there is no estimate yet"]
    minutes = facts["expected_in_minutes"]
    said = facts["expected_at"] in text or (minutes and _has(text, rf"\b{minutes} min"))
    soon = not minutes and _has(text, r"any (?:minute|moment)")
    return [] if said or soon else ["time of arrival missing"]


def _rider(text: str, facts: Facts) -> list[str]:
    if facts["rider"]:
        return [] if _says(facts["rider"], text) else ["rider missing"]
    nobody = _has(text, r"\bno (?:rider|one|courier|driver)\b", r"\b(?:not|n't)\b.{0,30}assigned")
    over = stage_of(facts) == "cancelled" and _has(text, r"\bcancell?ed\b")
    return [] if nobody or over else ["does not say that there is no rider"]


def _restaurant(text: str, facts: Facts) -> list[str]:
    return [] if _says(facts["restaurant"].replace("’", "'"), text) else ["restaurant missing"]


def _items(text: str, facts: Facts) -> list[str]:
    found = []
    counts = {"2": "2|two", "3": "3|three", "4": "4|four"}
    for line in facts["items"]:
        quantity, _, name = line.partition(" × ")
        name = name.split(" (")[0]
        count = rf"\b(?:{counts.get(quantity, quantity)})\W+(?:[×x]\W*|times )?(?:\w+ )?"
        if not _says(name, text) and not _has(text, rf"\b{re.escape(name)}e?s\b"):
            found.append(f"{name} missing")
        elif quantity != "1" and not _has(text, count + re.escape(name)):
            found.append(f"quantity of {name} missing")
    return found


def _stage(text: str, facts: Facts) -> list[str]:
    stage = stage_of(facts)
    return [] if _has(text, _STAGE[stage]) else [f"does not say {stage}"]


def _decision(text: str, allowed: bool, subject: str) -> list[str]:
    """The polarity of the sentences about the subject; of the first where none names it."""
    about = [part for part in _sentences(text) if _has(part, subject)]
    if not about and not _has(text, r"^(?:yes|no)\b"):
        return ["does not answer"]
    # What stands behind "because" gives the reason, which may well hold a "not" of its own.
    claims = [re.sub(r"(?i)\bbecause\b.*", "", part) for part in about or _sentences(text)[:1]]
    denied = _has(text, r"^no\b") or any(_NO.search(claim) for claim in claims)
    if allowed and denied:
        return ["denies what is allowed"]
    if not allowed and (not denied or _has(text, r"^yes\b")):
        return ["allows what is not possible"]
    return []


def _cancel(text: str, facts: Facts) -> list[str]:
    can = facts["can_cancel"]
    if stage_of(facts) == "cancelled" and _has(text, r"\b(?:been|was|is|already) cancell?ed\b"):
        return []
    found = _decision(text, can["allowed"], r"\bcancel|\bcall(?:ed)? (?:it )?off")
    if can["allowed"] and _MONEY.search(can["why"]) and _has(text, r"\bfree\b|no (?:cost|charge)"):
        found.append("says free though the fee is kept")
    return found


def _address(text: str, facts: Facts) -> list[str]:
    allowed = facts["can_change_address"]["allowed"]
    return _decision(text, allowed, r"\baddress|\bchang|\bdeliver(?:ed)? to")


def _late(text: str, facts: Facts) -> list[str]:
    late, because = facts["minutes_late"], facts["late_reason"]
    if late is None:
        return _stage(text, facts)
    in_time = _has(text, r"\bon time\b|\bnot (?:\w+ )?late\b|n't (?:\w+ )?late\b|no delay")
    if not late:
        return [] if in_time else ["does not say that it is on time"]
    said = not in_time and _has(text, rf"\b{late} min", r"\b(?:late|later|delay)")
    return [] if said or (because and _says(because, text)) else ["does not say that it is late"]


def _contact(text: str, facts: Facts) -> list[str]:
    if stage_of(facts) in ("delivered", "cancelled", "failed"):
        gone = _NO.search(text) and _has(text, r"\brider\b|\bcontact")
        return [] if gone or _has(text, r"\bno rider\b") else ["rider is gone"]
    if facts["rider"]:
        return [] if _has(text, "your orders") else ["way to the rider missing"]
    return [] if _has(text, r"assigned\b") else ["does not say that there is no rider yet"]


def _refund(text: str, facts: Facts) -> list[str]:
    refund = facts["refund"]
    if refund is None:
        return [] if _has(text, r"\bno refund|\bcolleague|\bperson|\bnot\b") else ["no refund yet"]
    for word in ("requested", "under way", "paid back", "declined"):
        if word in refund:
            synonyms = {"requested": "checked", "paid back": r"been (?:paid|refunded)"}
            return [] if _has(text, word, synonyms.get(word, word)) else [f"refund: {word}"]
    return []


def _about_allergens(text: str) -> list[str]:
    found = ["claims about ingredients"] if _KITCHEN_CLAIM.search(text) else []
    if not _has(text, r"\brestaurant\b|\bcolleague\b|\bperson\b"):
        found.append("does not send to the restaurant")
    return found


_TOPICS = {
    "total": _total,
    "fee": _fee,
    "eta": _eta,
    "rider": _rider,
    "restaurant": _restaurant,
    "items": _items,
    "stage": _stage,
    "cancel": _cancel,
    "address": _address,
    "late": _late,
    "contact": _contact,
    "refund": _refund,
}
