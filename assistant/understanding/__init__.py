"""What a customer asks: `understand` gives the category and whether it is sure of it.

A frozen sentence encoder (`inference.encoder`) turns the text into a vector; two small models on
it (`head`), trained from the example questions, give a probability for every category. A category
is *sure* when it passes the threshold that was certified on questions the models had not seen
(`thresholds`). Nothing here asks a database, and nothing waits: about 5 ms on one core.
"""

from assistant.understanding.classifier import Understanding, status, understand

__all__ = ["Understanding", "status", "understand"]
