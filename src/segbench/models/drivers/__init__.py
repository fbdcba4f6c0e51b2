"""Programs that run inside a model's own environment: each one file, told everything on its command line.

They import what is installed there and nothing of segbench; segbench never imports them.
"""
