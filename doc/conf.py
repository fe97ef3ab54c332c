"""Configuration of the documentation; built with `make doc`."""

from sklearn_superior import __version__

project = "sklearn-superior"
author = "the sklearn-superior developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "replication"]
nitpicky = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"quickstart\.py",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}
# Settings that hold functions cannot be kept between builds; that is no error.
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {"show_toc_level": 2}
html_sourcelink_suffix = ""
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_extra_path = ["replication/report.html"]
