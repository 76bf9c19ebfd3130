"""Read one file (text, Markdown, HTML, Word, e-mail, PDF) into paragraphs, tables and headings.

Each reader takes the bytes of a file and gives its `Content`. Tables keep one row a line with
` | ` between the cells. Word needs python-docx, PDF pypdfium2 (the extra `documents`); the others
need nothing beyond a plain install. What cannot be read is an InputError whose message says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.corpus.importers.sections import Block, unit_of
from assay.language.detect import language_code
from assay.language.figures import figures_in

MAX_TEXT_BYTES = 16 * 2**20  # taste: of a file of text; a book of 8,000 pages has as much
MAX_EXPANDED = 512 * 2**20  # bytes that an archive or a Word file may unpack to (taste)
# unpacked bytes for a packed one (taste): text packs to a tenth, a bomb to a thousandth
MAX_RATIO = 200
MAX_ENTRIES = 20_000  # of an archive; chosen
LETTERHEAD = 200  # characters above the first heading that are no document of their own (taste)
WIDEST_CELLS = 200  # columns of a table that are kept (taste)


class NoDocument(InputError):
    """The file can be read, and is no document."""


class Attachment(NamedTuple):
    """A file inside another one."""

    name: str
    data: bytes


class Content(NamedTuple):
    """A file as it was read. `notes` say what could not be read of it."""

    blocks: tuple[Block, ...]
    title: str = ""
    date: str = ""
    language: str = ""
    people: tuple[tuple[str, str], ...] = ()  # from, to: of an e-mail
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()


# ── text ──────────────────────────────────────────────────────────────────────────────────────────

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
LONGEST_FIRST_LINE = 80  # characters of a first line that stands in for a title (taste)
DATED_BLOCKS = 8  # at the beginning of a file, where it states its date (taste)
_DATED = re.compile(
    r"\s*(?:date|dated|decided|delivered|published|issued|päivämäärä|päiväys|julkaistu|annettu|datum|תאריך|פורסם)"
    r"(?:\s+on)?(?:\s*:\s*|\s+)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:re|subject|regarding|asia|aihe|ärende|betreff|betr|objet|הנדון|נושא)\.?\s*[:|]\s*(?P<text>.+)",
    re.IGNORECASE,
)
# a line of a letterhead: what a memo says of itself before its text
_HEAD_LINE = re.compile(
    r"(?:to|from|cc|date|re|subject|regarding|client|matter|author|reference|our ref|file"
    r"|vastaanottaja|lähettäjä|päiväys|pvm|asia|aihe|till|från|datum|ärende|an|von|betreff|betr"
    r"|à|de|date|objet|אל|מאת|תאריך|הנדון|נושא)\.?\s*[:|]",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\n[ \t\u00a0]*\n\s*")


def decode(data: bytes, stated: str = "") -> tuple[str, tuple[str, ...]]:
    """The text of some bytes, and a note where some of them could not be read. The encoding is the
    one stated, else UTF-8, UTF-16 or the Windows one that gives words."""
    if len(data) > MAX_TEXT_BYTES:
        size, limit = len(data) / 2**20, MAX_TEXT_BYTES // 2**20
        raise InputError(f"it has {size:,.0f} MB of text, more than {limit} MB: split it")
    encoding, data = _encoding(data, stated)
    notes: tuple[str, ...] = ()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text, notes = _decode_damaged(data, encoding)
    if len(_CONTROL.findall(text[:65_536])) > len(text[:65_536]) / 100:
        raise InputError("it is not text: it holds binary data")
    return _CONTROL.sub("", text).replace("\r\n", "\n").replace("\r", "\n"), notes


def _encoding(data: bytes, stated: str) -> tuple[str, bytes]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding, data[len(mark) :]
    head = data[:4_096]
    if head and head[1::2].count(0) > len(head) / 4:
        return "utf-16-le", data
    if head and head[::2].count(0) > len(head) / 4:
        return "utf-16-be", data
    try:
        "".encode(stated or "utf-8")
    except (LookupError, ValueError):
        stated = ""
    return stated or "utf-8", data


def _decode_damaged(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    """The text of bytes that are not in their encoding throughout: UTF-8 with damage where most of
    it is sound, else a Windows code page (Hebrew where its letters prevail)."""
    text = data.decode(encoding, "replace")
    damaged = text.count("\ufffd")
    sound = sum(1 for character in text if character > "\x7f") - damaged
    if encoding != "utf-8" or damaged < sound / 4:
        count = f"{damaged:,} character{'s' if damaged != 1 else ''}"
        return text, (f"{count} could not be read as {encoding.upper()} and became �",)
    hebrew = data.decode("cp1255", "replace")
    letters = sum(map(str.isalpha, hebrew))
    if sum("א" <= character <= "ת" for character in hebrew) > letters / 3:
        return hebrew, ()
    latin = data.decode("cp1252", "replace")
    lost = latin.count("\ufffd")
    note = f"its encoding is unknown: {lost:,} characters became �"
    return latin, ((note,) if lost else ())


def read_text(data: bytes) -> Content:
    """Plain text: paragraphs between blank lines."""
    text, notes = decode(data)
    blocks = tuple(Block(part.strip("\n")) for part in _BLANK.split(text) if part.strip())
    title = " ".join(blocks[0].text.split("\n")[0].split()) if blocks else ""
    capitals = [_is_in_capitals(block) for block in blocks]
    if capitals[:2] == [True, False] and sum(capitals) > 1 and unit_of(blocks[1].text) is None:
        title = ""  # the first of several headings, with its text: the file's name tells more
    if blocks and _is_under_a_name(blocks[0]):
        title = ", ".join(blocks[0].text.split("\n"))
    title = _stated_subject(blocks) or _shortened(title)
    return Content(blocks, title=title, date=_stated_date(blocks), notes=notes)


def _is_under_a_name(block: Block) -> bool:
    """Whether a block is the head of a decision or letter: the name of a court or firm in capitals,
    and lines of another kind below it."""
    first, *others = block.text.split("\n")
    return first.isupper() and bool(others) and not any(line.isupper() for line in others)


def _is_in_capitals(block: Block) -> bool:
    return "\n" not in block.text and block.text.isupper() and unit_of(block.text) is None


def _shortened(title: str) -> str:
    """A line that stands in for a title, cut between words."""
    if len(title) <= LONGEST_FIRST_LINE:
        return title
    return title[:LONGEST_FIRST_LINE].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"


def _stated_date(blocks: Sequence[Block]) -> str:
    """The date that a line near the beginning states as that of the document."""
    lines = (line for block in blocks[:DATED_BLOCKS] for line in block.text.split("\n"))
    for line in lines:
        if (stated := _DATED.match(line)) is not None:
            rest = line[stated.end() :][:40]
            found = (str(one.value) for one in figures_in(rest) if one.kind == "date")
            if day := iso_date(rest) or iso_date(next(found, "")):
                return day
    return ""


def _stated_subject(blocks: Sequence[Block]) -> str:
    """The subject that a memo or letter states in its letterhead."""
    lines = [line.strip() for block in blocks[:DATED_BLOCKS] for line in block.text.split("\n")]
    is_head = sum(_HEAD_LINE.match(line) is not None for line in lines) > 1
    is_head = is_head or any(map(_is_under_a_name, blocks[:1]))
    found = (match["text"] for line in lines if (match := _SUBJECT.match(line)) is not None)
    return _shortened(" ".join(next(found, "").split())) if is_head else ""


def is_letterhead(text: str) -> bool:
    """Whether a text is what a memo says of itself: to whom, from whom, when and on what."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    heads = [line for line in lines if _HEAD_LINE.match(line)]
    others = [line for line in lines if not _HEAD_LINE.match(line)]
    return len(text) <= 2 * LETTERHEAD and bool(heads) and all(line.isupper() for line in others)


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_NUMBERED = re.compile(r"\((?:\d{1,2}|[a-z]|[א-ת]{1,2})\)\s")
# lines that begin with a number, after the end of a sentence or of an item
NUMBERED_LINE = re.compile(rf"(?<=[.;:–—])[ \t]*\n(?={_NUMBERED.pattern})")
_KEY = re.compile(r"^(\w[\w-]*)\s*:\s*(.+?)\s*$", re.MULTILINE)


def read_markdown(data: bytes) -> Content:
    """Markdown with tables; a front matter may state title, date and language."""
    from markdown_it import MarkdownIt

    text, notes = decode(data)
    stated: dict[str, str] = {}
    if (front := _FRONT_MATTER.match(text)) is not None:
        found = _KEY.findall(front[1])
        stated = {key.lower(): value.strip("\"'") for key, value in found}
        text = text[front.end() :]
    parser = MarkdownIt("commonmark", {"maxNesting": 20}).enable("table").disable("reference")
    blocks = tuple(_markdown_blocks(parser.parse(text)))
    title = stated.get("title", "") or next((b.text for b in blocks if b.level == 1), "")
    return Content(
        blocks,
        title=" ".join(title.split()),
        date=iso_date(stated.get("date", "")),
        language=language_code(stated.get("language", "") or stated.get("lang", "")),
        notes=notes,
    )


def _markdown_blocks(tokens: list[Any]) -> Iterator[Block]:
    level = 0
    rows: list[list[str]] | None = None
    bullets: list[str] = []
    markers: list[int | None] = []  # the number of the next item of each open list
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "ordered_list_open":
            markers.append(int(token.attrs.get("start", 1)))
        elif token.type == "bullet_list_open":
            markers.append(None)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            markers.pop()
        elif token.type == "list_item_open":
            number = markers[-1]
            bullets = ["-" if number is None else f"{number}{token.markup or '.'}"]
            markers[-1] = None if number is None else number + 1
        elif token.type == "table_open":
            rows = []
        elif token.type == "tr_open" and rows is not None:
            rows.append([])
        elif token.type == "table_close" and rows is not None:
            yield Block(table_text(rows), is_table=True)
            rows = None
        elif token.type == "inline" and rows is not None and rows:
            rows[-1].append(_inline_text(token))
        elif token.type == "inline":
            text = _inline_text(token)
            if bullets and not (bullets == ["-"] and _NUMBERED.match(text)):
                text = " ".join([*bullets, text])
            bullets = []
            yield Block(text, level=level)
            level = 0
        elif token.type in ("fence", "code_block", "html_block"):
            content = token.content if token.type != "html_block" else _text_of_html(token.content)
            if content.strip():
                yield Block(content.strip("\n"))


def _inline_text(token: Any) -> str:
    """Lines are joined, except at a stated break and before a number in brackets."""
    pieces = []
    children = token.children or []
    for child, after in zip(children, [*children, None][1:], strict=True):
        if child.type in ("softbreak", "hardbreak"):
            begins = after is not None and _NUMBERED.match(after.content)
            pieces.append("\n" if begins or child.type == "hardbreak" else " ")
        elif child.type in ("text", "code_inline", "image"):
            pieces.append(child.content)
    return "".join(pieces).strip()


def table_text(rows: list[list[str]]) -> str:
    """A table as lines with its cells between bars."""
    cells = [[" ".join(cell.split()) for cell in row[:WIDEST_CELLS]] for row in rows]
    return "\n".join(" | ".join(row) for row in cells if any(row))


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LEFT_OUT = {"script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form"}
_LEFT_OUT |= {"svg", "button", "select", "iframe", "object", "head"}
_LEFT_OUT_ROLES = {"navigation", "banner", "contentinfo", "search", "complementary"}
# ids and classes of navigation on pages that have no elements for it
_LEFT_OUT_NAMES = {"navigation", "nav", "navbar", "breadcrumb", "breadcrumbs", "sidebar", "toc"}
_LEFT_OUT_NAMES |= {"footer", "fusszeile"}
_CONTAINERS = {"div", "section", "ul", "ol", "dl", "table", "p"}
_BREAKS = {"p", "div", "section", "article", "main", "ul", "ol", "li", "dl", "dt", "dd", "table"}
_BREAKS |= {"blockquote", "pre", "figure", "figcaption", "address", "hr", "body", "details"}
_BREAKS |= set(_HEADINGS)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_DATES = {"date", "dc.date", "dcterms.date", "dcterms.issued", "article:published_time"}
_DATES |= {"publication_date", "datepublished", "last-modified"}
LONGEST_REDIRECT = 500  # characters of a page that only leads to another one (taste)
_SPACE = re.compile(r"[\s\u00a0]+")


def read_html(data: bytes) -> Content:
    """HTML, without navigation, scripts, headers and footers."""
    from selectolax.lexbor import LexborHTMLParser

    charset = _CHARSET.search(data[:4_096])
    text, notes = decode(data, charset[1].decode("ascii") if charset else "")
    page = LexborHTMLParser(text)
    blocks = _html_blocks(page)
    if _leads_elsewhere(page) and sum(len(block.text) for block in blocks) <= LONGEST_REDIRECT:
        raise NoDocument("it only leads to another page")
    title = page.css_first("title")
    first = next((block.text for block in blocks if block.level == 1), "")
    stated = {
        (meta.attributes.get("name") or meta.attributes.get("property") or "").lower(): (
            meta.attributes.get("content") or ""
        )
        for meta in page.css("meta")
    }
    root = page.css_first("html")
    return Content(
        blocks,
        title=" ".join((title.text() if title else "").split()) or " ".join(first.split()),
        date=next(filter(None, (iso_date(stated.get(name, "")) for name in sorted(_DATES))), "")
        or _stated_date(blocks),
        language=language_code((root.attributes.get("lang") or "") if root else ""),
        notes=notes,
    )


def _leads_elsewhere(page: Any) -> bool:
    """Whether a page sends its reader on to another one at once."""
    refreshing = (
        (meta.attributes.get("content") or "").lower()
        for meta in page.css("meta")
        if (meta.attributes.get("http-equiv") or "").lower() == "refresh"
    )
    return any("url=" in content.replace(" ", "") for content in refreshing)


def _html_blocks(page: Any) -> tuple[Block, ...]:
    """The blocks of a page. What stands outside the main content is used only where no element says
    which content is the main one."""
    found = _Page()
    if page.body is not None:
        for node, is_start in _walk(page.body):
            found.enter(node) if is_start else found.leave(node)
    found.flush()
    main = [block for is_main, block in found.blocks if is_main]
    return tuple(main or [block for _, block in found.blocks])


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """(node, whether it begins or ends) in the order of the text, without those left out."""
    stack = [(root, True)]
    while stack:
        node, is_start = stack.pop()
        yield node, is_start
        if not is_start:
            continue
        stack.append((node, False))
        children = []
        child = None if _is_left_out(node) else node.child
        while child is not None:
            children.append((child, True))
            child = child.next
        stack += reversed(children)


def _is_left_out(node: Any) -> bool:
    if node.tag in _LEFT_OUT:
        return True
    if not node.is_element_node:
        return False
    stated = {key: (node.attributes.get(key) or "").lower() for key in ("role", "id", "class")}
    if node.tag == "a":
        return "headerlink" in stated["class"]
    names = {stated["id"], *stated["class"].split()} if node.tag in _CONTAINERS else set()
    return stated["role"] in _LEFT_OUT_ROLES or not names.isdisjoint(_LEFT_OUT_NAMES)


class _Page:
    """Collects the blocks of a page from its nodes."""

    def __init__(self) -> None:
        self.blocks: list[tuple[bool, Block]] = []
        self.words: list[str] = []
        self.level = self.tables = self.pres = 0
        self.rows: list[list[str]] = []
        self.mains: list[int] = []  # the elements open that hold the main content

    def enter(self, node: Any) -> None:
        tag = node.tag
        if node.is_text_node:
            text = node.text_content or ""
            self.words.append(text if self.pres else _SPACE.sub(" ", text))
            return
        if tag in _BREAKS:
            self.flush()
        if tag in _HEADINGS:
            self.level = _HEADINGS[tag]
        elif tag == "pre":
            self.pres += 1
        elif tag == "table":
            self.tables += 1
        elif tag == "tr" and self.tables == 1:
            self.rows.append([])
        elif tag in ("td", "th") and self.tables == 1:
            self.words = []
        elif tag == "li" and not self.tables:
            self.words = ["- "]
        elif tag == "br":
            self.words.append("\n")
        elif tag == "img":
            self.words.append(node.attributes.get("alt") or "")
        if self._is_main(node):
            self.mains.append(node.mem_id)

    def _is_main(self, node: Any) -> bool:
        role = (node.attributes.get("role") or "").lower() if node.is_element_node else ""
        return node.tag in ("main", "article") or role == "main"

    def leave(self, node: Any) -> None:
        tag = node.tag
        if tag in ("td", "th") and self.tables == 1 and self.rows:
            self.rows[-1].append("".join(self.words))
            self.words = []
        elif tag == "table":
            self.tables -= 1
            if self.tables == 0:
                rows, self.rows = self.rows, []
                self._table(rows)
        elif tag in _BREAKS:
            self.flush()
        if tag in _HEADINGS:
            self.level = 0
        elif tag == "pre":
            self.pres -= 1
        if self.mains and node.mem_id == self.mains[-1]:
            self.mains.pop()

    def flush(self) -> None:
        """End the paragraph; inside a cell of a table it goes on."""
        if self.tables:
            self.words.append(" ")
            return
        text = "".join(self.words)
        self.words = []
        if self.pres:
            text = text.strip("\n")
        else:
            text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()
        if text.strip() and text != "-":
            self.blocks.append((bool(self.mains), Block(text, level=self.level)))

    def _table(self, rows: list[list[str]]) -> None:
        """A table with one column lays out a page: its cells are paragraphs."""
        self.words = []
        if max((len(row) for row in rows), default=0) < 2:
            texts = [" ".join(cell.split()) for row in rows for cell in row]
            self.blocks += [(bool(self.mains), Block(text)) for text in texts if text]
        elif text := table_text(rows):
            self.blocks.append((bool(self.mains), Block(text, is_table=True)))


def _text_of_html(text: str) -> str:
    return "\n".join(block.text for block in read_html(text.encode()).blocks)


# ── Word ──────────────────────────────────────────────────────────────────────────────────────────

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING_STYLE = re.compile(
    r"(?:heading|otsikko|rubrik|überschrift|titre)\s*([1-6])", re.IGNORECASE
)


TEMPLATE_DAY = "2013-12-23"  # of python-docx's template, which files made with it keep


def read_docx(data: bytes) -> Content:
    """Word: paragraphs, headings by style, tables, footnotes; deleted text is left out."""
    docx = imported("docx", "reading Word files", "documents")
    if data[:4] == b"\xd0\xcf\x11\xe0":
        raise InputError("it is protected with a password, or an old .doc file: save it as .docx")
    try:
        with ZipFile(BytesIO(data)) as archive:
            check_archive(archive)
        document = docx.Document(BytesIO(data))
    except (BadZipFile, ValueError, KeyError, SyntaxError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"it is not a Word file, or it is damaged: {said}") from error
    levels = _style_levels(document)
    notes = _footnotes(document.part)
    blocks = tuple(_docx_blocks(document.element.body, levels, notes))
    stated = document.core_properties
    made = stated.modified or stated.created
    if made and made.date().isoformat() == TEMPLATE_DAY:
        made = None
    title = _stated_subject(blocks) or _headed_title(blocks) or (stated.title or "").strip()
    if not title or title.lower() in ("word document", "document"):
        first = next((b.text for b in blocks if b.text.strip()), "")
        title = _shortened(" ".join(first.split()))
    return Content(
        blocks,
        title=title,
        date=_stated_date(blocks) or (made.date().isoformat() if made and made.year > 1980 else ""),
        language=language_code(stated.language or ""),
    )


def _headed_title(blocks: Sequence[Block]) -> str:
    """The heading under the letterhead, where it alone has its level: what a file's properties call
    its title is often that of a template."""
    place = next((place for place, block in enumerate(blocks) if block.level), 0)
    above = sum(len(block.text) for block in blocks[:place])
    levels = sorted(block.level for block in blocks if block.level)
    is_title = levels and above <= LETTERHEAD and blocks[place].level not in levels[1:]
    return " ".join(blocks[place].text.split()) if is_title else ""


def _style_levels(document: Any) -> dict[str, int]:
    """style id -> level of heading; the style Title is a heading of level 1."""
    levels = {}
    for style in document.styles.element.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        printed = name.get(f"{_W}val", "") if name is not None else ""
        match = _HEADING_STYLE.match(printed)
        if match or printed.lower() == "title":
            levels[style.get(f"{_W}styleId", "")] = int(match[1]) if match else 1
    return levels


def _footnotes(part: Any) -> dict[str, str]:
    from lxml import etree

    notes: dict[str, str] = {}
    for relation in part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/footnotes"):
            parser = etree.XMLParser(resolve_entities=False, no_network=True)
            root = etree.fromstring(relation.target_part.blob, parser)
            for note in root.iter(f"{_W}footnote"):
                text = " ".join(_docx_text(p, {}) for p in note.iter(f"{_W}p")).strip()
                notes[note.get(f"{_W}id", "")] = text
    return notes


def _docx_blocks(body: Any, levels: dict[str, int], notes: dict[str, str]) -> Iterator[Block]:
    for element in body.iterchildren():
        if element.tag == f"{_W}p":
            text = _docx_text(element, notes)
            if text.strip():
                yield Block(text.strip(), level=_level(element, levels), strong=_is_strong(element))
        elif element.tag == f"{_W}tbl":
            yield from _docx_table(element, levels, notes)
        elif element.tag == f"{_W}sdt":  # a field of a form, or a table of contents
            content = element.find(f"{_W}sdtContent")
            if content is not None and element.find(f".//{_W}docPartGallery") is None:
                yield from _docx_blocks(content, levels, notes)


def _docx_table(table: Any, levels: dict[str, int], notes: dict[str, str]) -> Iterator[Block]:
    rows = [
        [
            " ".join(_docx_text(p, notes) for p in cell.iter(f"{_W}p"))
            for cell in row.iterchildren(f"{_W}tc")
        ]
        for row in table.iterchildren(f"{_W}tr")
    ]
    if max((len(row) for row in rows), default=0) < 2:
        for cell in table.iter(f"{_W}tc"):
            yield from _docx_blocks(cell, levels, notes)
    elif text := table_text(rows):
        yield Block(text, is_table=True)


def _docx_text(paragraph: Any, notes: dict[str, str]) -> str:
    pieces: list[str] = []
    for element in paragraph.iter():
        if element.tag == f"{_W}t":
            if not any(parent.tag == _MC_FALLBACK for parent in element.iterancestors()):
                pieces.append(element.text or "")
        elif element.tag == f"{_W}tab":
            pieces.append(" ")
        elif element.tag in (f"{_W}br", f"{_W}cr"):
            pieces.append("\n")
        elif element.tag == f"{_W}noBreakHyphen":
            pieces.append("-")
        elif element.tag == f"{_W}footnoteReference":
            note = notes.get(element.get(f"{_W}id", ""), "")
            pieces.append(f" [{note}]" if note else "")
    return "".join(pieces)


def _level(paragraph: Any, levels: dict[str, int]) -> int:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
    if outline is not None and outline.get(f"{_W}val", "9") in "012345":
        return int(outline.get(f"{_W}val")) + 1
    return levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0


def _is_strong(paragraph: Any) -> bool:
    """Whether every run with letters is bold."""
    runs = [run for run in paragraph.iter(f"{_W}r") if "".join(run.itertext()).strip()]
    bold = [run.find(f"{_W}rPr/{_W}b") for run in runs]
    return bool(runs) and all(
        mark is not None and mark.get(f"{_W}val", "1") not in ("0", "false") for mark in bold
    )


def check_archive(archive: ZipFile) -> None:
    """Refuse an archive that unpacks to far more than it holds, has too many entries, or is
    encrypted."""
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise InputError(f"the archive has {len(entries):,} entries, more than {MAX_ENTRIES:,}")
    packed = sum(entry.compress_size for entry in entries)
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_EXPANDED:
        size, limit = unpacked / 2**20, MAX_EXPANDED // 2**20
        raise InputError(f"the archive unpacks to {size:,.0f} MB, more than {limit} MB")
    if unpacked > 2**20 and unpacked > MAX_RATIO * packed:
        ratio = unpacked // max(packed, 1)
        raise InputError(f"the archive unpacks to {ratio:,} times its size: it may be a bomb")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError("the archive is protected with a password: save it without one")


# ── e-mail ────────────────────────────────────────────────────────────────────────────────────────


def read_eml(data: bytes) -> Content:
    """An e-mail: its subject is the title, and its attachments are files of their own."""
    from email import policy
    from email.parser import BytesParser
    from email.utils import parsedate_to_datetime

    if len(data) > 4 * MAX_TEXT_BYTES:
        raise InputError(f"the e-mail has {len(data) / 2**20:,.0f} MB, more than 64 MB")
    message = BytesParser(policy=policy.default).parsebytes(data)
    if not message.keys():
        raise InputError("it is not an e-mail: it has no header")
    body = message.get_body(("plain", "html"))
    content = Content(())
    if body is not None:
        payload = body.get_payload(decode=True)
        raw = payload if isinstance(payload, bytes) else b""
        charset = body.get_content_charset() or ""
        if body.get_content_type() == "text/html":
            content = read_html(raw)
        else:
            text, notes = decode(raw, charset)
            parts = (part.strip("\n") for part in _BLANK.split(text))
            content = Content(tuple(Block(part) for part in parts if part.strip()), notes=notes)
    try:
        date = parsedate_to_datetime(str(message["date"])).date().isoformat()
    except (TypeError, ValueError):
        date = ""
    people = tuple((name, str(message[name])) for name in ("from", "to", "cc") if message[name])
    return content._replace(
        title=" ".join(str(message["subject"] or "").split()),
        date=date,
        people=people,
        attachments=tuple(_attachments(message)),
    )


def _attachments(message: Any) -> Iterator[Attachment]:
    for number, part in enumerate(message.iter_attachments(), start=1):
        name = part.get_filename() or f"attachment-{number}"
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload()
            data = inner[0].as_bytes() if inner else b""
            yield Attachment(name if name.endswith(".eml") else f"{name}.eml", data)
        elif not part.is_multipart():
            yield Attachment(name, part.get_payload(decode=True) or b"")


# ── PDF ───────────────────────────────────────────────────────────────────────────────────────────

_PDF_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
# the lines that a browser prints above and below a page: a time, and the address
_PRINTED = re.compile(
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}, \d{1,2}[:.]\d\d(?:\s?[AP]M)?(?:\s.*)?"
    r"|(?:https?|file)://\S+(?:\s+\d+/\d+)?"
)
EDGE_LINES = 2  # at the top and the bottom of a page, where running lines stand (taste)


def read_pdf(data: bytes) -> Content:
    """The text of a PDF, line by line, without the lines that every page repeats."""
    pypdfium2 = imported("pypdfium2", "reading PDF", "documents")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise InputError("it is protected with a password: save a copy without one") from error
        raise InputError(f"it is not a readable PDF: {error}") from error
    try:
        stated = document.get_metadata_dict()
        pages, unread = _pdf_pages(document, pypdfium2)
    finally:
        document.close()
    notes = []
    if unread:
        listed = ", ".join(map(str, unread[:10])) + (" …" if len(unread) > 10 else "")
        noun = "page" if len(unread) == 1 else "pages"
        notes.append(f"no text on {noun} {listed} of {len(pages)}: scanned, or damaged")
    running = _running_lines(pages)
    blocks = tuple(
        block
        for number, lines in enumerate(pages, start=1)
        for block in _pdf_blocks(lines, number, running)
    )
    made = _PDF_DATE.match(stated.get("CreationDate", ""))
    title = " ".join(stated.get("Title", "").split())
    if not title or re.search(r"\.(?:docx?|pdf|indd)$|^Microsoft Word", title):
        title = _stated_subject(blocks) or (blocks[0].text[:200] if blocks else "")
    return Content(
        blocks,
        title=title,
        date=_stated_date(blocks) or (iso_date("-".join(made.groups())) if made else ""),
        notes=tuple(notes),
    )


def _pdf_pages(document: Any, pypdfium2: Any) -> tuple[list[list[str]], list[int]]:
    pages: list[list[str]] = []
    unread: list[int] = []
    for number in range(len(document)):
        try:
            page = document[number]
            textpage = page.get_textpage()
            text = textpage.get_text_range().replace("\ufffe", "-").replace("\x02", "-")
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            text = ""
        lines = [line.strip() for line in text.replace("\r\n", "\n").split("\n")]
        pages.append([_CONTROL.sub("", line) for line in lines if line])
        if not pages[-1]:
            unread.append(number + 1)
    return pages, unread


def _edges(lines: list[str]) -> list[str]:
    return [re.sub(r"\d+", "#", line) for line in (*lines[:EDGE_LINES], *lines[-EDGE_LINES:])]


def _running_lines(pages: list[list[str]]) -> set[str]:
    """The lines at the edges of pages that most pages have, whatever their number."""
    seen = Counter(line for lines in pages for line in set(_edges(lines)))
    return {line for line, count in seen.items() if count >= 3 and count > len(pages) / 2}


def _pdf_blocks(lines: list[str], page: int, running: set[str]) -> Iterator[Block]:
    last = len(lines) - EDGE_LINES
    for place, line in enumerate(lines):
        is_edge = place < EDGE_LINES or place >= last
        is_running = re.sub(r"\d+", "#", line) in running or _PRINTED.fullmatch(line)
        if not (is_edge and is_running):
            yield Block(line, page=page)


# ── all of them ───────────────────────────────────────────────────────────────────────────────────

_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)-(\d\d)(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?!\d)")


def iso_date(text: str) -> str:
    """A date as YYYY-MM-DD; empty where the text has none."""
    from datetime import date

    if match := _DAY.search(text):
        year, month, day = match.groups()
    elif match := _DAY_FIRST.search(text):
        day, month, year = match.groups()
    else:
        return ""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


READERS: dict[str, Callable[[bytes], Content]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".docx": read_docx,
    ".eml": read_eml,
    ".pdf": read_pdf,
}
