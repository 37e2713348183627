"""What the model is told beside the question: its parts, edited by staff, and what was in force."""

from django.db import models


class PromptVersion(models.Model):
    """What every prompt of a time began with: content-addressed, never changed."""

    hash = models.CharField(max_length=64, unique=True)
    system = models.TextField()
    policies = models.JSONField(default=list)  # list of texts
    examples = models.JSONField(default=list)  # list of {question, facts, answer}
    tokens = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    #: When this version was last made the current one; the newest is in force.
    current_since = models.DateTimeField()

    class Meta:
        ordering = ("-current_since", "-id")

    def __str__(self) -> str:
        return self.hash[:12]


class SystemText(models.Model):
    """What the model is told it is. The first row in force counts."""

    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "system text"
        verbose_name_plural = "system text"

    def __str__(self) -> str:
        return self.text[:80]


class PromptPart(models.Model):
    """Something that stands in every prompt, in a fixed order."""

    position = models.PositiveSmallIntegerField(default=0)
    active = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        ordering = ("position", "id")


class Policy(PromptPart):
    """A rule of the house that an answer may quote."""

    title = models.CharField(max_length=80)
    text = models.TextField(max_length=1000)

    class Meta:
        ordering = ("position", "id")
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.title


class PromptExample(PromptPart):
    """An exchange that shows the model how to answer."""

    question = models.CharField(max_length=300)
    facts = models.TextField(max_length=2000, help_text="The facts as the model would see them.")
    answer = models.TextField(max_length=1000)

    class Meta:
        ordering = ("position", "id")
        verbose_name = "example exchange"

    def __str__(self) -> str:
        return self.question
