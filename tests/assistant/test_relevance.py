"""Which topics a question names."""

import pytest

from assistant.evaluation_questions import PLAIN_TOPICS, questions
from assistant.relevance import topics_of


@pytest.mark.parametrize(
    ("question", "topics"),
    [
        ("Where is my order?", {"stage"}),
        ("Where is my order and who brings it?", {"stage", "rider"}),
        ("How much was it, and can I still cancel?", {"total", "cancel"}),
        ("What is the total and what is the delivery fee?", {"total", "fee"}),
        ("How much is the delivery fee?", {"fee"}),
        ("Is it too late to cancel?", {"cancel"}),
        ("Is it gluten free?", {"kitchen"}),
        ("What's the phone number of the restaurant?", {"unknown"}),
        ("When does it come? And are there nuts in it?", {"eta", "kitchen"}),
        ("Did the restaurant accept my order?", {"stage"}),
        ("Hello!", {"hello"}),
        ("Hello, where is my order?", {"stage"}),
        ("Thank you", {"thanks"}),
        ("Does the moon have an address book", {"address"}),
        ("Do you like my hat?", set()),
        ("", set()),
    ],
)
def test_the_topics_of_a_question(question: str, topics: set[str]) -> None:
    assert set(topics_of(question)) == topics


@pytest.mark.parametrize(
    ("slip", "topic"),
    [
        ("can i cancle it", "cancel"),
        ("chnage adress?", "address"),
        ("whos the courrier", "rider"),
        ("name of resturant", "restaurant"),
        ("delivry charge", "fee"),
        ("WHEN WILL IT ARIVE", "eta"),
        ("what’s the totl", "total"),
    ],
)
def test_a_slip_of_the_finger_changes_nothing(slip: str, topic: str) -> None:
    assert topics_of(slip) == (topic,)


@pytest.mark.parametrize("word", ["here", "times", "free", "other", "sticks"])
def test_an_ordinary_word_is_not_mended_into_another(word: str) -> None:
    assert topics_of(word) == ()


def test_a_short_question_that_names_nothing_is_about_the_one_before() -> None:
    assert topics_of("And why?", "Is it late?") == ("late",)
    assert topics_of("And who is bringing it?", "Where is my order?") == ("rider",)
    long = "Do you happen to like the colour of the hat I wear?"
    assert topics_of(long, "Is it late?") == ()


def test_every_question_of_the_evaluation_is_understood() -> None:
    other = {"allergens": "kitchen", "unknown": "unknown"}
    for asked in questions(held_out=False):
        topics = topics_of(asked.text, asked.after)
        if asked.topic in PLAIN_TOPICS:
            assert asked.topic in topics, asked.text
        else:
            assert topics in ((other[asked.topic],), ("kitchen",)), asked.text
