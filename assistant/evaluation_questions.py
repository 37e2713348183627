"""What customers ask, for measuring the prompt: our own lines, by what they ask about.

`TUNED` may be looked at while the prompt is worked on; `HELD_OUT` is only counted, so that its
figure says something about questions that nobody has written yet.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    text: str
    topic: str
    #: What the customer asked before, with its topic: the question needs it to be understood.
    after: str = ""
    held_out: bool = False


#: The plain topics come first; what an answer may not say stands below them.
PLAIN_TOPICS = (
    *("total", "fee", "eta", "rider", "restaurant", "items", "stage", "cancel", "address"),
    *("late", "contact", "refund"),
)

TUNED: dict[str, tuple[str, ...]] = {
    "total": (
        "How much is my order in total?",
        "what do i have to pay",
        "Could you tell me the full amount of this order, please?",
        "I forgot what this came to. Remind me?",
        "whats the totl price",
        "How much did you charge me?",
        "Tell me the total of my order.",
        "How much is this going to cost me?",
        "What amount was charged?",
        "What's the final price?",
        "how many dollars in all",
        "So what's my grand total?",
        "How much money did I spend on this?",
        "Could you confirm the order amount?",
        "what am i paying for this order",
        "How much is everything together?",
    ),
    "fee": (
        "What is the delivery fee?",
        "how much for delivery",
        "Do I pay anything for the delivery itself?",
        "I'd like to know what the delivery costs, thank you.",
        "delivry charge?",
        "How much of the price is for bringing it to me?",
        "Tell me the delivery fee.",
        "Does delivery cost anything?",
        "What did you charge for delivery?",
        "How expensive is the delivery?",
        "How much am I paying for delivery?",
        "What is the cost of delivery?",
        "Is there a charge for delivery?",
        "delivery fee please",
        "How much of my total goes to the delivery?",
    ),
    "eta": (
        "When will my food arrive?",
        "how long still",
        "What time should I expect the delivery?",
        "I'm getting hungry, how many minutes until it's here?",
        "eta pls",
        "Will it take much longer?",
        "When can I expect my delivery?",
        "How many minutes until my order arrives?",
        "Is it arriving soon?",
        "What's the ETA on my order?",
        "When will I get my food?",
        "By when will my order be delivered?",
        "How soon will it get here?",
        "Do you know when the rider arrives?",
        "what's the expected time of delivery",
        "In how many minutes will I eat?",
    ),
    "rider": (
        "Who is delivering my order?",
        "name of the driver?",
        "Could you please tell me who my rider is?",
        "Who should I look out for at the door?",
        "whos the courrier",
        "Has a rider been assigned, and who?",
        "What is the name of my rider?",
        "Who's delivering this?",
        "Tell me who the courier is.",
        "Who picked up my order?",
        "Is someone assigned to bring my order?",
        "Who do I expect at my door?",
        "Who has been assigned to deliver it?",
        "What's the courier's name?",
        "Which driver is on my order?",
        "who delivers",
    ),
    "restaurant": (
        "Which restaurant is my order from?",
        "where did i order from",
        "Can you remind me who cooks this meal?",
        "I ordered in a hurry, what place was it?",
        "name of resturant",
        "What's the restaurant called?",
        "What's the name of the place I ordered from?",
        "Which restaurant made this?",
        "Where was this food made?",
        "Tell me the restaurant.",
        "From which restaurant is it?",
        "What restaurant is cooking my order?",
        "Which place is my food from?",
        "I forgot which restaurant I picked.",
        "where am i ordering from",
    ),
    "items": (
        "What did I order?",
        "list the dishes",
        "Could you please repeat what is in my order?",
        "I can't remember what I picked. What's in the bag?",
        "waht items do i get",
        "Which dishes are in this order?",
        "What am I getting?",
        "Which food did I choose?",
        "Tell me the items in my order.",
        "What does my order consist of?",
        "How many items are there?",
        "What exactly did I order?",
        "Can you read my order back to me?",
        "What products are in the order?",
        "How many drinks did I order?",
        "which items",
    ),
    "stage": (
        "What is the status of my order?",
        "where is my food",
        "Could you check how far along my order is?",
        "Has anything happened with my order yet?",
        "ordr status",
        "What is going on with my order right now?",
        "Tell me the current stage of my order.",
        "Has it left the restaurant?",
        "What's taking place with my order?",
        "Is it still in the kitchen?",
        "Has it been delivered?",
        "order status please",
        "How's my order coming along?",
        "Has the kitchen started?",
        "Did my rider pick up the food?",
        "What's my order doing?",
        "At what point is my order?",
        "Is it delivered already?",
    ),
    "cancel": (
        "Can I still cancel my order?",
        "cancel possible?",
        "I've changed my mind. Is it too late to cancel?",
        "Would it be possible to cancel this order, please?",
        "can i cancle it",
        "I don't want it any more, can I call it off?",
        "May I cancel?",
        "Is there any way to cancel this order?",
        "I no longer want this order. Can it be cancelled?",
        "Will you let me cancel?",
        "Can I abort the order?",
        "Is it OK if I cancel now?",
        "Can you still cancel it?",
        "May I still cancel this?",
        "What happens if I want to cancel?",
        "Do I have the option to cancel my order?",
    ),
    "address": (
        "Can I change the delivery address?",
        "wrong address, can i fix it",
        "I moved last week. May I still have it sent to my new place?",
        "Is it possible to deliver to another address, please?",
        "chnage adress possible?",
        "Can the rider bring it to my office instead?",
        "May I change my delivery address?",
        "Can I still edit the address?",
        "Please could I have it delivered to a different address?",
        "Is it too late to change the address?",
        "I gave the wrong street. Can that be corrected?",
        "May I still change where it is delivered?",
        "Can the address still be changed?",
        "Can I have it delivered somewhere different?",
        "How do I change my delivery address?",
        "Is an address change possible at this point?",
    ),
    "late": (
        "Is my order late?",
        "why is it taking so long",
        "Is everything on time?",
        "How many minutes late is it, and why?",
    ),
    "contact": ("How can I reach the rider?", "can i call the driver"),
    "refund": (
        "Has my refund been paid?",
        "is there a refund for this order",
        "I want my money back. Will I get it?",
    ),
    "allergens": (
        "Does my order contain nuts?",
        "is it gluten free",
        "I'm allergic to milk. Is the food safe for me?",
    ),
    "unknown": (
        "What is the phone number of the restaurant?",
        "do you have a discount code for me",
        "How many calories does it have?",
    ),
}

HELD_OUT: dict[str, tuple[str, ...]] = {
    "total": (
        "What's the total?",
        "How much does the whole thing cost?",
        "price of my order?",
        "Hi there, what will be taken from my card for this?",
        "how mcuh was it all together",
        "I need the final sum for my expenses.",
        "How much did my order cost?",
        "What's the total amount of my order?",
        "How much will I be charged in total?",
        "What does it all add up to?",
        "Total cost?",
    ),
    "fee": (
        "How much is the delivery fee?",
        "Is delivery free?",
        "what did delivery cost me",
        "Please tell me the delivery charge on this order.",
        "shipping fee??",
        "What part of the bill is delivery?",
        "How much is the delivery charge?",
        "What's the delivery fee?",
        "How much did you charge me to deliver this?",
        "Is there a delivery fee and how much is it?",
    ),
    "eta": (
        "When does it get here?",
        "How long until my order arrives?",
        "arrival time?",
        "Do I have time for a shower before the food comes?",
        "wen will it be deliverd",
        "Could you give me an estimate of when it will be at my door, please?",
        "What time will my order arrive?",
        "How long will it take?",
        "When is my food arriving?",
        "When should my order be here?",
        "How many minutes left?",
    ),
    "rider": (
        "Who is my rider?",
        "Who's bringing the food?",
        "rider name",
        "Please let me know which courier has my order.",
        "who is the delivary guy",
        "What is the person called who comes with my meal?",
        "Who is bringing my order?",
        "What's the rider called?",
        "Can you tell me the name of my delivery driver?",
        "Who is my delivery rider?",
        "Do I have a rider yet?",
    ),
    "restaurant": (
        "What restaurant is this order from?",
        "Who is making my food?",
        "restaurant name pls",
        "From which place did I get this?",
        "wich restaurant did i use",
        "Could you tell me the name of the kitchen behind this order?",
        "Which restaurant did this come from?",
        "What restaurant did I order from?",
        "Who's the restaurant?",
        "Where is my food coming from?",
    ),
    "items": (
        "What items are in my order?",
        "Tell me what I ordered",
        "whats in it",
        "Could you list everything I will get, please?",
        "my ordered itmes?",
        "What food is coming?",
        "What items did I order?",
        "What did I buy?",
        "What is in my order?",
        "Which dishes did I order?",
        "Please list my order.",
    ),
    "stage": (
        "Where is my order?",
        "What stage is my order at?",
        "anything new?",
        "Hello, could you please look up how my order is doing?",
        "wheres my fod",
        "Is it being cooked or is it already on the road?",
        "What stage is my order in?",
        "Where is my order right now?",
        "Is my food being prepared?",
        "How is my order going?",
        "Has my order been picked up yet?",
        "What's the status of it?",
    ),
    "cancel": (
        "Can I cancel?",
        "Is it still possible to cancel the order?",
        "how late can i cancel, does it work now",
        "Am I allowed to cancel this one?",
        "i want to cansel my order",
        "Something came up. Could you tell me if the order can be cancelled?",
        "May I cancel my order?",
        "Can this order still be cancelled?",
        "Am I able to cancel now?",
        "Is it too late to cancel my order?",
        "I want to cancel. Can I?",
    ),
    "address": (
        "Can I still change the address?",
        "Is it possible to change where it's delivered?",
        "new address ok?",
        "May I give you a different delivery address now?",
        "can i updtae my adress",
        "I'm at a friend's house. Could the food come there instead?",
        "May I change the delivery address?",
        "Can I change the address of my order?",
        "Is it still possible to change my address?",
        "Could you change where my order goes?",
        "Am I allowed to update the delivery address?",
    ),
    "late": (
        "Is it running late?",
        "What is the delay about?",
        "how late is my food",
        "Will it come at the promised time?",
    ),
    "contact": ("How do I get in touch with my rider?", "phone the rider, how?"),
    "refund": (
        "What about my refund?",
        "state of the refund",
        "Can you refund me now?",
    ),
    "allergens": (
        "Are there peanuts in it?",
        "Is this vegan?",
        "what are the ingredients, I can't eat shellfish",
    ),
    "unknown": (
        "What number can I call to reach QuickBite?",
        "How old is the rider?",
        "when does the restaurant close tonight",
    ),
}

#: Topic of the first question, the second question, its topic.
FOLLOW_UPS_TUNED = (
    ("Where is my order?", "And who is bringing it?", "rider"),
    ("Which restaurant is it from?", "and how much was it?", "total"),
    ("How much is the total?", "And the delivery part of that?", "fee"),
    ("Who is my rider?", "when will they be here?", "eta"),
    ("Can I cancel my order?", "And the address, can I change that?", "address"),
)
FOLLOW_UPS_HELD_OUT = (
    ("What did I order?", "And from where?", "restaurant"),
    ("When will it arrive?", "so is that late?", "late"),
    ("Can I change the address?", "ok and cancelling?", "cancel"),
    ("What's the status?", "what's in it again?", "items"),
    ("Is it late?", "And who has it?", "rider"),
)


def questions(*, held_out: bool | None = None) -> list[EvaluationQuestion]:
    """All of them in turns over the topics; one half only where ``held_out`` is given."""
    found = []
    for half, plain, follow_ups in (
        (False, TUNED, FOLLOW_UPS_TUNED),
        (True, HELD_OUT, FOLLOW_UPS_HELD_OUT),
    ):
        if held_out is not None and held_out is not half:
            continue
        rounds = max(len(texts) for texts in plain.values())
        found += [
            EvaluationQuestion(texts[i], topic, held_out=half)
            for i in range(rounds)
            for topic, texts in plain.items()
            if i < len(texts)
        ]
        found += [
            EvaluationQuestion(text, topic, after=first, held_out=half)
            for first, text, topic in follow_ups
        ]
    return found
