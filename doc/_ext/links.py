"""Check the links between the built pages; a broken one is a warning.

The file and the anchor of a link must exist. External links are not checked.
"""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ANCHOR = re.compile(r"""\s(?:id|name)=["']([^"']+)["']""")
_LINK = re.compile(r"""\s(?:href|src)=["']([^"']*)["']""")
_COMMENT = re.compile(r"<!--.*?-->|<script\b[^>]*>.*?</script>", flags=re.DOTALL)


def find_broken_links(folder):
    """Return the broken links of all pages in `folder`.

    Parameters
    ----------
    folder : path
        Folder of the built pages.

    Returns
    -------
    broken : list of tuple
        Pairs of a page, relative to the folder, and the link in it.
    """
    folder = Path(folder).resolve()
    anchors, links = {}, {}
    for page in sorted(folder.rglob("*.html")):
        if page.relative_to(folder).parts[0] == "_static":  # templates of the theme
            continue
        tags = "".join(_TAG.findall(_COMMENT.sub("", page.read_text())))
        anchors[page] = {unescape(name) for name in _ANCHOR.findall(tags)}
        links[page] = dict.fromkeys(map(unescape, _LINK.findall(tags)))
    return [
        (page.relative_to(folder).as_posix(), link)
        for page, own in links.items()
        for link in own
        if not _leads_somewhere(page, link, anchors)
    ]


def _leads_somewhere(page, link, anchors):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:  # outside, or an image in the page itself
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if parts.fragment and target in anchors:
        return unquote(parts.fragment) in anchors[target]
    return target.exists()


def check_links(app, exception):
    """Warn about each broken link."""
    from sphinx.util import logging

    if exception is None and app.builder.format == "html":
        for page, link in find_broken_links(app.outdir):
            logging.getLogger(__name__).warning("%s has a broken link: %s", page, link)


def setup(app):
    """Check the links when the pages are built."""
    app.connect("build-finished", check_links, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
