"""The leaderboard site: static pages of one or several records, which open from disk and on any host."""

from segbench.site.pictures import RunFiles
from segbench.site.rendering import render

__all__ = ["RunFiles", "render"]
