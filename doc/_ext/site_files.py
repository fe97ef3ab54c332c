"""Files for other programs: llms.txt and, if the site has an address, a sitemap.

``llms.txt`` lists all pages with their first sentence. The sitemap and the tags for
link previews need ``html_baseurl``.
"""

import re
from html import escape
from pathlib import Path

_LEFT_OUT = ("gallery/sg_execution_times", "sg_execution_times")


def first_sentence(text):
    """Return the first sentence of a text, on one line."""
    text = " ".join(text.split())
    return re.split(r"(?<=[.?!])\s", text, maxsplit=1)[0].rstrip(":")


def write_list(title, summary, pages, address):
    """Return the text of ``llms.txt``.

    Parameters
    ----------
    title, summary : str
        Name and description of the project.

    pages : list of tuple
        The name of each page, its title and its first sentence.

    address : str
        Prefix of the page names; ``""`` if the site has no address.
    """
    lines = [f"# {title}", "", f"> {summary}", "", "## Pages", ""]
    lines += [
        f"- [{name}]({address}{page}.html): {sentence}"
        for page, name, sentence in pages
    ]
    lines += [
        "",
        f"The source of a page, as text, is at {address}_sources/<page>.rst.txt.",
    ]
    return "\n".join(lines) + "\n"


def write_sitemap(addresses):
    """Return a sitemap of all addresses."""
    urls = "".join(
        f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{urls}</urlset>\n"
    )


def card_tags(title, description, address, image):
    """Return the tags for the link preview of a page."""
    properties = {
        "og:type": "article",
        "og:title": title,
        "og:description": description,
        "og:url": address,
        "og:image": image,
    }
    tags = [
        f'<meta property="{key}" content="{escape(value)}">'
        for key, value in properties.items()
    ]
    return "\n".join(
        [*tags, '<meta name="twitter:card" content="summary_large_image">']
    )


def setup(app):
    """Write the files when the pages are built."""
    from docutils import nodes
    from sphinx import addnodes

    def describe(doctree):
        for paragraph in doctree.findall(nodes.paragraph):
            if isinstance(paragraph.parent, nodes.section):
                return first_sentence(paragraph.astext())
        for content in doctree.findall(addnodes.desc_content):  # of the API
            return first_sentence(content[0].astext())
        return ""

    def address_of(config):
        return f"{config.html_baseurl.rstrip('/')}/" if config.html_baseurl else ""

    def add_card(app, page, template, context, doctree):
        address = address_of(app.config)
        if not address or doctree is None:
            return
        tags = card_tags(
            re.sub(r"<[^>]*>", "", context["title"]),
            describe(doctree),
            f"{address}{page}.html",
            f"{address}_static/search.png",
        )
        context["metatags"] = f"{context.get('metatags', '')}\n{tags}"

    def write(app, exception):
        if exception is not None or app.builder.name != "html":
            return
        address, env = address_of(app.config), app.env
        pages = [page for page in sorted(env.found_docs) if page not in _LEFT_OUT]
        described = [
            (page, env.titles[page].astext(), describe(env.get_doctree(page)))
            for page in pages
        ]
        summary = describe(env.get_doctree(app.config.root_doc))
        text = write_list(app.config.project, summary, described, address)
        folder = Path(app.outdir)
        (folder / "llms.txt").write_text(text)
        if address:
            addresses = [f"{address}{page}.html" for page in pages]
            (folder / "sitemap.xml").write_text(write_sitemap(addresses))

    app.connect("html-page-context", add_card)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
