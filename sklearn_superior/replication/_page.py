"""Parts of a page that is written as Markdown and as HTML."""

import base64
import html
from dataclasses import dataclass

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.2; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
                                 background: white; }
td.text { text-align: left; }
figure { margin: 1.5rem 0; } figcaption { font-size: 0.85rem; color: #444; }
figure img { width: 48%; min-width: 320px; }
.agrees { background: #d7efdc; } .disagrees { background: #f8d9d3; }
img { max-width: 100%; height: auto; }
"""


@dataclass
class Heading:
    """A heading of some level."""

    level: int
    text: str

    def markdown(self):
        """Return Markdown."""
        return f"{'#' * self.level} {self.text}"

    def html(self):
        """Return HTML."""
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"


@dataclass
class Paragraph:
    """A paragraph of plain text."""

    text: str

    def markdown(self):
        """Return Markdown."""
        return self.text

    def html(self):
        """Return HTML."""
        return f"<p>{html.escape(self.text)}</p>"


@dataclass
class Table:
    """A table of text."""

    header: list
    rows: list

    def markdown(self):
        """Return Markdown."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self):
        """Return HTML; a cell that is a verdict gets its colour."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(_cell(cell) for cell in row) + "</tr>\n"
            for row in self.rows
        )
        return f'<div class="scroll"><table><tr>{head}</tr>\n{body}</table></div>'


def _cell(text):
    kind = ""
    if text in ("agrees", "disagrees"):
        kind = f' class="{text}"'
    elif text[:1].isalpha() and not any(char.isdigit() for char in text):
        kind = ' class="text"'
    return f"<td{kind}>{html.escape(text)}</td>"


@dataclass
class Figures:
    """Pictures side by side, in the page itself."""

    pngs: list
    caption: str

    def markdown(self):
        """Return nothing: the pictures are in the HTML page."""
        return ""

    def html(self):
        """Return HTML."""
        text = html.escape(self.caption)
        images = "".join(
            f'<img alt="{text}" src="data:image/png;base64,'
            f'{base64.b64encode(png).decode()}">'
            for png in self.pngs
        )
        return f"<figure>{images}<figcaption>{text}</figcaption></figure>"


def as_markdown(parts):
    """Return the parts as Markdown."""
    return "\n\n".join(filter(None, (part.markdown() for part in parts))) + "\n"


def as_html(title, parts):
    """Return the parts as a page of HTML that needs no other file."""
    body = "\n".join(part.html() for part in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )
