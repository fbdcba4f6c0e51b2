"""Models: each one file, its card, and the command that runs it."""
