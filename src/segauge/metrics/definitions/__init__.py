"""The metrics, written down: the facts of each and how it is computed from the measured parts of a structure."""
