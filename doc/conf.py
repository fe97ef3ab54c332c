"""Configuration of the documentation; built with `make doc`."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[1]))  # for the studies
os.environ.setdefault("KERAS_BACKEND", "torch")
# The examples are small, so more threads would only slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from inventories import write_inventories
from reports import find_missing

from sklearn_superior import __version__

HERE = Path(__file__).parent

project = "sklearn-superior"
author = "the sklearn-superior developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "links",
    "reports",
    "site_files",
]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]
# Leave out pages of studies without records.
exclude_patterns = ["_build", "_ext"]
exclude_patterns += [f"{page}.rst" for page in find_missing(HERE)]
default_role = "literal"
nitpicky = True
toc_object_entries_show_parents = "hide"
intersphinx_mapping = write_inventories(
    HERE / "_build" / "inventories", online=os.environ.get("DOC_ONLINE") == "1"
)
# Do not copy prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Reading order of the examples; others come last.
READING_ORDER = [
    "plot_simplex.py",
    "plot_grid_search.py",
    "plot_worst_mistakes.py",
    "plot_early_stopping.py",
    "plot_choose_then_calibrate.py",
    "plot_staged_search.py",
    "plot_decide.py",
    "plot_own_loop.py",
    "plot_compare_rules.py",
    "plot_blocks.py",
    "plot_leakage.py",
    "plot_cnn.py",
    "plot_skorch.py",
    "plot_lightning.py",
    "plot_monte_carlo.py",
]


def reading_order(filename):
    listed = filename in READING_ORDER
    return (READING_ORDER.index(filename) if listed else len(READING_ORDER), filename)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"quickstart\.py",
    "within_subsection_order": reading_order,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}
# Settings that contain functions cannot be cached between builds.
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {"show_toc_level": 2, "header_links_before_dropdown": 7}
html_show_sourcelink = False
# The address of the site, if any, for the sitemap and link previews.
html_baseurl = os.environ.get("DOC_ADDRESS", "")
# Pages without subpages need no sidebar.
html_sidebars = dict.fromkeys(
    ["start", "faq", "benchmarks", "contributing", "changes"],
    [],
)
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"


def visit_math(translator, node):
    """Write a formula as MathML, which browsers render without a script."""
    is_block = isinstance(node, nodes.math_block)
    tex = node.astext().replace(r"\ln ", r"\ln\, ")  # the space that TeX leaves there
    mathml = tex2mathml(tex, as_block=is_block)
    tag = "div" if is_block else "span"
    translator.body.append(f'<{tag} class="formula">{mathml}</{tag}>')
    raise nodes.SkipNode


def read_markdown(app, path, parent, content):
    """Convert the simple Markdown of the change log to reStructuredText."""
    if path.suffix == ".md":
        text = re.sub(r"`([^`]+)`", r"``\1``", content[0])
        text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)
        for mark, line in (("###", "~"), ("##", "-"), ("#", "=")):
            text = re.sub(
                rf"^{mark} (.+)$",
                lambda match, line=line: f"{match[1]}\n{line * len(match[1])}",
                text,
                flags=re.MULTILINE,
            )
        content[0] = text


def setup(app):
    app.connect("include-read", read_markdown)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
