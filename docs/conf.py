"""Configuration of the documentation site: `make docs` builds it into build/docs, warnings being errors.

Pages are Markdown. The reference is not written by hand: a line `<!-- generated: NAME -->` in a page is replaced, while
it is read, by what `docs/extensions/reference_pages.py` makes of the code. Nothing on a page is loaded from elsewhere.
"""

import sys
from pathlib import Path

import segauge

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "segauge"
author = "The segauge authors"
project_copyright = "The segauge authors, Apache-2.0"
release = version = segauge.__version__

extensions = ["myst_parser", "reference_pages"]
exclude_patterns = ["extensions"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 3

html_theme = "furo"
html_title = f"segauge {release}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "native"
