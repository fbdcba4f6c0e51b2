"""Datasets: each one file, its card, and how its folders become cases."""
