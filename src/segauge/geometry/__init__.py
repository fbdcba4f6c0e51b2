"""Surfaces, distances, components: arrays in, arrays out."""
