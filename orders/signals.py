"""Signals of this app. Receivers are connected by the app that wants them, in its `ready()`."""

from django.dispatch import Signal

# Sent once per changed order after the commit, with `number`, `order_id`, `customer_id` and
# `version`. It only makes things faster: whoever misses it finds the same in the rows.
order_changed = Signal()
