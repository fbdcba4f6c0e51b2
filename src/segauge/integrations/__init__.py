"""segauge inside other tools: a metric for MONAI, the evaluation of nnU-Net, a container for Grand Challenge.

Each module is loaded when it is imported by name; only `segauge.integrations.monai` needs another package.
"""
