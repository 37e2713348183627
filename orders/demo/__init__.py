"""The demo's people, food and orders, how they are loaded and how they move along."""
