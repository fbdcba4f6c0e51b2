"""The only place that opens files: images, layouts of cases, and score tables."""
