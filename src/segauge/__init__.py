"""segauge measures predicted segmentations against ground truth."""
