"""The site: `make site`. Its pages are the Markdown files of this folder, which also read well without it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extension"))

import ackclock  # noqa: E402

project = "ackclock"
author = "The authors of ackclock"
version = release = ackclock.__version__
html_title = "ackclock"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "ids",
    "live",
    "outside",
]
# README.md is the list of pages for those who read the folder without the site.
exclude_patterns = ["*.in.md", "README.md", "_build", "_live", "extension"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# What `make site` has of rustdoc: a folder for each crate.
RUST = HERE / "_rust" / "rust"

autosummary_generate = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
# Nothing that code blocks show is guessed at: most are commands, TOML or output.
highlight_language = "text"
copybutton_prompt_text = "$ "
# What the native module's pages refer to has no page of its own.
nitpicky = False
# Links to files that are no pages of the site, such as the script corpus, are left as words.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
(HERE / "_live").mkdir(exist_ok=True)
html_static_path = ["_static", "_live"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
html_extra_path = ["_rust"] if RUST.is_dir() else []
