"""Downloads: files that are whole or not there at all, and archives that can do no harm."""

from segbench.downloads.archives import ArchiveLimits, UnsafeArchive, extract
from segbench.downloads.fetching import DownloadFailed, fetch

__all__ = ["ArchiveLimits", "DownloadFailed", "UnsafeArchive", "extract", "fetch"]
