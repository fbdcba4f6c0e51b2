"""The leaderboard site: static pages of one or several records, which open from disk and on any host."""

from segbench.site.rendering import render

__all__ = ["render"]
