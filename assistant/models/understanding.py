"""What customers ask, as staff see it: categories, their sub-intents, and example questions."""

from django.db import models


class Category(models.Model):
    """A subject of questions. Staff can add more; the classifier learns them from examples."""

    slug = models.SlugField(max_length=40, unique=True)
    title = models.CharField(max_length=80)
    may_cache = models.BooleanField(
        default=False, help_text="A prepared answer may be given without asking the model."
    )
    escalates = models.BooleanField(default=False, help_text="A person takes over at once.")
    fixed_reply = models.TextField(
        max_length=1000, blank=True, help_text="Always answer with this text, never the model's."
    )
    #: The category that reports name where this one is a part of it, such as one of two kinds.
    reported_as = models.SlugField(
        max_length=40, blank=True, help_text="Reports count it under this category; empty: itself."
    )
    active = models.BooleanField(default=True)

    class Meta:
        ordering = ("slug",)
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.title


class Intent(models.Model):
    """A part of a category whose questions share one answer."""

    category = models.ForeignKey(Category, on_delete=models.CASCADE, related_name="intents")
    slug = models.SlugField(max_length=40)
    title = models.CharField(max_length=80)
    may_cache = models.BooleanField(
        default=True, help_text="One prepared answer fits every question filed under it."
    )

    class Meta:
        ordering = ("category__slug", "slug")
        constraints = (
            models.UniqueConstraint(fields=["category", "slug"], name="one_intent_per_slug"),
        )

    def __str__(self) -> str:
        return self.title


class ExampleQuestion(models.Model):
    """A question with its right category: what the classifier is trained on."""

    text = models.CharField(max_length=500)
    category = models.ForeignKey(Category, on_delete=models.CASCADE, related_name="examples")
    intent = models.ForeignKey(
        Intent, on_delete=models.SET_NULL, null=True, blank=True, related_name="examples"
    )
    language = models.CharField(max_length=10, default="en")
    active = models.BooleanField(default=True)
    source = models.CharField(max_length=40, default="staff")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("category__slug", "id")
        constraints = (
            models.UniqueConstraint(fields=["language", "text"], name="one_example_per_text"),
        )

    def __str__(self) -> str:
        return self.text[:80]
