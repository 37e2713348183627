"""What became of each run: one row an answer, written when the answer is finalised."""

from django.db import models
from django.db.models import Q


class Generation(models.Model):
    """One answer's way through the engine. Times are from Redis's clock; no text is kept here."""

    class Outcome(models.TextChoices):
        DONE = "done", "Done"
        STOPPED = "stopped", "Stopped by the customer"
        CLAIMED = "claimed", "Taken over by an agent"
        GUARDED = "guarded", "Cut by the guard"
        EXPIRED = "expired", "Deadline passed"
        FAILED = "failed", "Failed"

    #: The answer's own id, which is the job's id too; no foreign key: inference knows no answers.
    answer_id = models.UUIDField(unique=True, editable=False)
    outcome = models.CharField(max_length=16, choices=Outcome)
    reason = models.CharField(max_length=300, blank=True)
    finish_reason = models.CharField(max_length=32, blank=True)
    model = models.CharField(max_length=128, blank=True)
    #: Hash of system text, policies and examples: what the model was told beside the question.
    prompt_hash = models.CharField(max_length=64, blank=True)
    host = models.CharField(max_length=128, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    queued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    first_token_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["-finished_at"]),)
        constraints = (
            models.CheckConstraint(
                name="generation_outcome_known",
                condition=Q(
                    outcome__in=["done", "stopped", "claimed", "guarded", "expired", "failed"]
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_outcome_display()} ({self.output_tokens} tokens)"

    @property
    def time_to_first_token_ms(self) -> float | None:
        """From the job's arrival in Redis to its first shown text."""
        if self.queued_at is None or self.first_token_at is None:
            return None
        return (self.first_token_at - self.queued_at).total_seconds() * 1000
