"""A source distribution has no docs, and then nothing here has anything to test."""

from tests.conftest import PROJECT

collect_ignore_glob = [] if (PROJECT / "docs").is_dir() else ["test_*.py"]
