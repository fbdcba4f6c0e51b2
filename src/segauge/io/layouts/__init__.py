"""Layouts: how folders of files become cases, and what each layout says about its structures."""
