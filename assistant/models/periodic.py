"""Periodic work, done once however many beats call for it."""

from django.db import models


class PeriodicRun(models.Model):
    """One run of a periodic task: whoever inserts the row does the work, the others go home."""

    task = models.CharField(max_length=100)
    slot = models.BigIntegerField(help_text="The run's scheduled time divided by its period.")
    claimed_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["task", "slot"], name="one_run_a_slot"),)

    def __str__(self) -> str:
        return f"{self.task} #{self.slot}"
