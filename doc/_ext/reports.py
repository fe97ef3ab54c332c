"""Reports of studies as pages of this documentation.

The directive ``report`` names a study. Its report is built from the records in
``studies/records``: headings become sections, listed in the table of contents, and the
text can be searched. Without records there is no page: ``studies`` is a toctree of the
pages whose records exist, and `find_missing` returns the others.
"""

import re
from importlib import import_module
from pathlib import Path

RECORDS = Path(__file__).parents[2] / "studies" / "records"
_REPORT = re.compile(r"^\.\. report:: (\S+)$", flags=re.MULTILINE)


def find_reports(folder, records=RECORDS):
    """Return the pages in `folder` that show a report, with their records folder."""
    found = {}
    for page in sorted(Path(folder).glob("*.rst")):
        if match := _REPORT.search(page.read_text("utf-8")):
            found[page.stem] = records / match[1]
    return found


def find_missing(folder, records=RECORDS):
    """Return the pages in `folder` whose records do not exist."""
    found = find_reports(folder, records)
    return [name for name, path in found.items() if not path.exists()]


def setup(app):
    """Add the directives ``report`` and ``studies``."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.directives.other import TocTree
    from sphinx.util.docutils import SphinxDirective

    from studies.__main__ import STUDIES, make_report

    class Report(SphinxDirective):
        """Show the report of the named study."""

        required_arguments = 1

        def run(self):
            (name,) = self.arguments
            for path in (RECORDS / name).iterdir():
                self.env.note_dependency(str(path))
            parts = make_report(import_module(STUDIES[name]), RECORDS / name)
            return add_parts(nodes, parts).children

    class Studies(TocTree):
        """A toctree without the pages whose records do not exist."""

        def run(self):
            missing = set(find_missing(self.env.srcdir))
            pages = [line for line in self.content if line not in missing]
            self.content = StringList(pages, source=self.content.source(0))
            return super().run()

    app.add_directive("report", Report)
    app.add_directive("studies", Studies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_parts(nodes, parts):
    """Return a container of sections with all parts but the title and the links."""
    sections, used = [nodes.container()], set()
    for part in parts:
        if part.kind == "heading" and part.level > 1:  # the page has its own title
            section = nodes.section(ids=[_unused(part.anchor, used)])
            section += nodes.title(part.text, part.text)
            del sections[part.level - 1 :]
            sections[-1] += section
            sections.append(section)
        elif part.kind == "paragraph":
            sections[-1] += nodes.paragraph(part.text, part.text)
        elif part.kind == "bullets":
            sections[-1] += nodes.bullet_list()
            for item in part.items:
                text = nodes.paragraph(item, item)
                sections[-1][-1] += nodes.list_item("", text)
        elif part.kind == "code":
            block = nodes.literal_block(part.text, part.text, language="toml")
            sections[-1] += block
        elif part.kind in ("table", "figures"):
            sections[-1] += nodes.raw("", _as_html(part), format="html")
    return sections[0]


def _unused(anchor, used):
    """Return the anchor, with a number appended if it was used before."""
    names = [anchor, *(f"{anchor}-{k}" for k in range(2, len(used) + 3))]
    name = next(name for name in names if name not in used)
    used.add(name)
    return name


def _as_html(part):
    """Return a table or figures as HTML, with the CSS classes of the theme."""
    from studies._page import as_html

    body = as_html("", [part]).partition("<body>")[2].partition("</body>")[0].strip()
    return body.replace(
        '<div class="scroll"><table>',
        '<div class="pst-scrollable-table-container"><table class="table report">',
    ).replace("<figure>", '<figure class="report">')
