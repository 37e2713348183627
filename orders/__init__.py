"""Orders: what a customer bought, where it is now, and what may still be done about it."""
