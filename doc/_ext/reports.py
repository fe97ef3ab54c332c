"""Reports of studies as pages of this documentation.

A study writes its report as a page of HTML that needs no other file. The directive
``report`` takes over the parts of such a page: headings become sections with their
place in the contents, and sentences can be searched. Tables and figures are kept.
Without the file there is no page: ``studies`` is a toctree of the pages whose report
exists, and `find_missing` names the others.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

_KINDS = {"h1": "title", "p": "text", "li": "item", "pre": "code"}
_WHOLE = ("div", "figure")  # a table that scrolls; figures with their caption
_REPORT = re.compile(r"^\.\. report:: (\S+)$", flags=re.MULTILINE)


class ReportReader(HTMLParser):
    """Read the parts of a report, as ``(kind, value)`` in `parts`.

    Kinds are ``"title"``, ``"heading"`` with its level, anchor and text, ``"text"``,
    ``"item"`` of a list, ``"code"`` and ``"html"``, a table or figures as they are.
    """

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.parts, self._page = [], page
        self._starts = [0, *(m.end() for m in re.finditer("\n", page))]
        self._open, self._text, self._begin = None, [], 0
        self.feed(page)
        self.close()

    def _position(self):
        line, column = self.getpos()
        return self._starts[line - 1] + column

    def handle_starttag(self, tag, attrs):
        """Begin a part, unless one is open."""
        if self._open is None and (tag in {*_KINDS, *_WHOLE, "h2", "h3", "h4"}):
            self._open, self._text = (tag, dict(attrs)), []
            self._begin = self._position()

    def handle_data(self, data):
        """Collect the text of the open part."""
        self._text.append(data)

    def handle_endtag(self, tag):
        """End the open part."""
        if self._open is None or tag != self._open[0]:
            return
        (tag, attrs), text = self._open, "".join(self._text)
        self._open = None
        if tag in _WHOLE:
            end = self._page.index(">", self._position()) + 1
            self.parts.append(("html", self._page[self._begin : end]))
        elif tag in _KINDS:
            self.parts.append((_KINDS[tag], text))
        else:
            self.parts.append(("heading", (int(tag[1]), attrs["id"], text)))


def find_reports(folder):
    """Return the pages in `folder` that show a report, with its file."""
    found = {}
    for page in sorted(Path(folder).glob("*.rst")):
        if match := _REPORT.search(page.read_text()):
            found[page.stem] = Path(folder) / match[1]
    return found


def find_missing(folder):
    """Return the pages in `folder` whose report does not exist."""
    return [name for name, path in find_reports(folder).items() if not path.exists()]


def setup(app):
    """Add the directives ``report`` and ``studies``."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.directives.other import TocTree
    from sphinx.util.docutils import SphinxDirective

    class Report(SphinxDirective):
        """Show a report: its file, relative to the folder of the documentation."""

        required_arguments = 1

        def run(self):
            path = Path(self.env.srcdir) / self.arguments[0]
            self.env.note_dependency(str(path))
            root = nodes.container()
            sections, used = [root], set()
            for kind, value in ReportReader(path.read_text()).parts:
                if kind == "heading":
                    level, anchor, text = value
                    section = nodes.section(ids=[_unused(anchor, used)])
                    section += nodes.title(text, text)
                    del sections[level - 1 :]
                    sections[-1] += section
                    sections.append(section)
                elif kind != "title":  # the page has its own
                    _add(nodes, sections[-1], kind, value)
            return root.children

    class Studies(TocTree):
        """A toctree without the pages whose report does not exist."""

        def run(self):
            for path in find_reports(self.env.srcdir).values():
                self.env.note_dependency(str(path))
            missing = set(find_missing(self.env.srcdir))
            pages = [line for line in self.content if line not in missing]
            self.content = StringList(pages, source=self.content.source(0))
            return super().run()

    app.add_directive("report", Report)
    app.add_directive("studies", Studies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _unused(anchor, used):
    """Return the anchor with a number behind it if it was used before."""
    names = [anchor, *(f"{anchor}-{k}" for k in range(2, len(used) + 3))]
    name = next(name for name in names if name not in used)
    used.add(name)
    return name


def _add(nodes, section, kind, value):
    """Add a part of a report to a section."""
    if kind == "text":
        section += nodes.paragraph(value, value)
    elif kind == "item":
        if not (len(section) and isinstance(section[-1], nodes.bullet_list)):
            section += nodes.bullet_list()
        section[-1] += nodes.list_item("", nodes.paragraph(value, value))
    elif kind == "code":
        section += nodes.literal_block(value, value, language="toml")
    else:
        value = value.replace(
            '<div class="scroll"><table>',
            '<div class="pst-scrollable-table-container"><table class="table report">',
        ).replace("<figure>", '<figure class="report">')
        section += nodes.raw("", value, format="html")
