"""Set-up and start on one machine. Standard library only: it runs before anything is installed."""
