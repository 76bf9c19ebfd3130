"""Import files as people keep them: text, Markdown, HTML, Word, e-mail and PDF, in folders and zip
archives.

A file is one document, or one for each section where it has headings (`sections.py`). An act (a
title that names a law, and sections with numbers) gives one document for each moment of a section,
with the place that a lawyer would cite; moments are paragraphs, or begin with a number: (1), (א).
A list under a moment belongs to it.

Options: `by` (`file`, `section` or `moment`; by default as described), `language`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

from msgspec.structs import replace

from assay.core.errors import InputError, UsageError
from assay.core.extras import MissingExtra
from assay.core.files import os_message
from assay.core.types import Document, Locator
from assay.corpus.importers.blocks import (
    LETTERHEAD,
    MAX_TEXT_BYTES,
    NUMBERED_LINE,
    READERS,
    Content,
    NoDocument,
    check_archive,
    is_letterhead,
)
from assay.corpus.importers.kinds import (
    Options,
    Problem,
    Unit,
    files_below,
    now_reading,
    path_of,
    safe_id,
)
from assay.corpus.importers.sections import Block, Heading, Section, find_sections
from assay.language.detect import detect_any
from assay.law.citation import PLAIN
from assay.law.citing import PLACE_NAMES, title_of
from assay.law.places import normal_part
from assay.law.versions import status_of_text, with_status_mark

SCHEME = PLAIN
VERSION = 6  # raised when the same source gives other documents
ISOLATED = True  # its files are read by a process with limits of memory and time
LEAVES_COPIES_OUT = True  # a file that is others one after the other is no document (copies.py)
INCREMENTAL = True  # a file that has not changed is taken from the corpus as it is
OPTIONS = ("by", "language")
BY = ("file", "section", "moment")
DEEPEST_ARCHIVE = 3  # archives within archives; chosen
MAX_FILE_BYTES = 512 * 2**20  # of any one file (taste)


class _File(NamedTuple):
    """One file as it lies in the source, perhaps inside an archive: its path and its id."""

    path: str
    id: str
    depth: int = 0


def units(source: str, options: Options) -> list[Unit]:
    if options.get("by") not in (None, "", *BY):
        raise UsageError(f"by={options['by']!r} is not known", hint=f"Known: {', '.join(BY)}.")
    found = files_below(source, ())
    seen: set[str] = set()
    named = []
    for unit in found:
        path = PurePosixPath(unit.path)
        name = safe_id(path.with_suffix("").as_posix())
        if name in seen:
            name = safe_id(path.as_posix())
        seen.add(name)
        named.append(Unit(path=unit.path, id=name, size=unit.size, mtime_ns=unit.mtime_ns))
    return named


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    file = _File(unit.path, unit.id)
    if reason := _why_not_opened(source, path):
        yield _problem(file, "skipped", reason)
        return
    suffix = path.suffix.lower()
    most = MAX_FILE_BYTES if suffix in (".pdf", ".zip", ".docx", ".eml") else MAX_TEXT_BYTES
    if unit.size > most:
        size, limit = unit.size / 2**20, most // 2**20
        yield _problem(file, "too-large", f"it has {size:,.0f} MB, more than {limit} MB: split it")
        return
    try:
        if suffix == ".zip":
            with ZipFile(path) as archive:
                yield from _read_archive(archive, file, unit, options)
        else:
            yield from _read_file(_bytes_of(path, suffix), file, unit, options)
    except OSError as error:
        yield _problem(file, "unreadable", os_message(error))
    except (BadZipFile, NotImplementedError) as error:
        yield _problem(file, "unreadable", f"it is not a zip archive, or it is damaged: {error}")
    except InputError as error:
        yield _problem(file, "unreadable", error.message)


def _why_not_opened(source: str, path: Path) -> str:
    """Why a file is not even opened: a folder of somebody else may hold links to yours."""
    if path.exists() and not path.is_file():
        return "it is not a regular file"  # a pipe or a device would never end
    root = Path(source)
    leads_out = path.is_symlink() and not path.resolve().is_relative_to(root.resolve())
    return (
        "it links to a file outside of the folder: copy it in" if path != root and leads_out else ""
    )


def _bytes_of(path: Path, suffix: str) -> bytes:
    return path.read_bytes() if suffix in READERS else b""


def _problem(file: _File, code: str, reason: str) -> Problem:
    return Problem(code=code, where=file.path, reason=reason)


# ── archives ──────────────────────────────────────────────────────────────────────────────────────


def _read_archive(
    archive: ZipFile, file: _File, unit: Unit, options: Options
) -> Iterator[Document | Problem]:
    if file.depth >= DEEPEST_ARCHIVE:
        raise InputError(f"archives are nested more than {DEEPEST_ARCHIVE} deep")
    check_archive(archive)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if not entries:
        raise InputError("the archive is empty")
    for entry in sorted(entries, key=lambda entry: entry.filename):
        name = PurePosixPath(entry.filename.replace("\\", "/"))
        if any(part.startswith((".", "__MACOSX", "~$")) for part in name.parts):
            outside = ".." in name.parts
            reason = "its path leads out of the archive" if outside else "hidden files are not read"
            yield _problem(_File(f"{file.path}/{name}", ""), "skipped", reason)
            continue
        inner = _File(
            f"{file.path}/{name}", safe_id(f"{file.id}/{name.with_suffix('')}"), file.depth + 1
        )
        suffix = name.suffix.lower()
        is_read = suffix in READERS or suffix == ".zip"
        try:
            data = archive.read(entry) if is_read else b""
            yield from _read_file(data, inner, unit, options)
        except (BadZipFile, NotImplementedError, EOFError, RuntimeError, OSError) as error:
            yield _problem(inner, "unreadable", f"it cannot be unpacked: {error}")


# ── one file ──────────────────────────────────────────────────────────────────────────────────────


def _read_file(
    data: bytes, file: _File, unit: Unit, options: Options
) -> Iterator[Document | Problem]:
    """The documents of one file. Whatever a reader raises on a strange file is told of that file:
    the libraries that read Word, HTML and PDF have no list of their errors."""
    now_reading(file.path)
    if file.path in unit.refused:
        yield _problem(file, "limit", unit.refused[file.path])
        return
    suffix = PurePosixPath(file.path).suffix.lower()
    if suffix not in READERS and suffix != ".zip":
        kind = f"{suffix} files are" if suffix else "files without an ending are"
        yield _problem(file, "skipped", f"{kind} not read")
        return
    try:
        if not data:
            raise InputError("the file is empty")
        if suffix == ".zip":
            with ZipFile(BytesIO(data)) as archive:
                yield from _read_archive(archive, file, unit, options)
            return
        content = READERS[suffix](data)
    except MissingExtra as error:
        yield _problem(file, "needs-extra", error.message)
        return
    except InputError as error:
        code = "skipped" if isinstance(error, NoDocument) else "unreadable"
        yield _problem(file, code, error.message)
        return
    except MemoryError:
        raise
    except Exception as error:
        name = type(error).__name__
        reason = " ".join(str(error).split())[:200]
        yield _problem(file, "unreadable", f"it cannot be read ({name}: {reason})")
        return
    for reason in content.notes:
        yield _problem(file, "read-in-part", reason)
    yield from _documents(content, file, options)
    yield from _attachments(content, file, unit, options)


def _attachments(
    content: Content, file: _File, unit: Unit, options: Options
) -> Iterator[Document | Problem]:
    for attachment in content.attachments:
        name = PurePosixPath(attachment.name.replace("\\", "/")).name or "attachment"
        stem = PurePosixPath(name).with_suffix("")
        inner = _File(f"{file.path}/{name}", safe_id(f"{file.id}/{stem}"), file.depth + 1)
        if inner.depth > DEEPEST_ARCHIVE:
            yield _problem(inner, "unreadable", "attachments are too deep inside each other")
        else:
            yield from _read_file(attachment.data, inner, unit, options)


class _Source(NamedTuple):
    """The properties that every document of a file shares."""

    id: str
    title: str
    date: str
    language: str
    metadata: dict[str, str | int]


def _documents(content: Content, file: _File, options: Options) -> Iterator[Document | Problem]:
    words = "\n".join(block.text for block in content.blocks[:200])[:20_000]
    if not words.strip() and not content.title:
        if not content.notes:  # which say it already
            yield _problem(file, "no-text", "it has no text")
        return
    by = str(options.get("by") or "")
    language = str(options.get("language") or "") or content.language or detect_any(words)
    title = content.title or PurePosixPath(file.path).stem
    stated: dict[str, str | int] = {"path": file.path, **dict(content.people)}
    if content.date:
        stated |= {"date": content.date, "year": int(content.date[:4])}
    source = _Source(file.id, title, content.date, language, stated)
    sections = [] if by == "file" else _without_title(find_sections(content.blocks), title)
    if content.people and not by and not _is_numbered_memo(sections):
        sections = []  # an e-mail is one document
    if by == "moment" or (not by and _is_act(title, sections, language)):
        yield from _act_documents(source, sections)
    elif len(joined := _joined(sections)) > 1:
        yield from _section_documents(source, joined)
    else:
        yield _whole_document(source, content.blocks)


def _whole_document(source: _Source, blocks: tuple[Block, ...]) -> Document:
    text = Section(None, (), blocks).text
    return Document(
        id=source.id,
        title=source.title,
        text=text,
        locator=Locator(doc_id=source.id),
        language=source.language,
        valid_from=source.date,
        metadata=dict(source.metadata),
    )


# ── sections ──────────────────────────────────────────────────────────────────────────────────────


def _without_title(sections: list[Section], title: str) -> list[Section]:
    """The sections without the title of the file above the first heading, which is no text."""
    if len(sections) < 2 or sections[0].heading is not None:
        return sections
    first, *others = sections
    top, *rest = first.paragraphs
    if " ".join(top.text.split()).casefold() != title.casefold():
        return sections
    return [first._replace(paragraphs=tuple(rest)), *others] if rest else others


def _is_numbered_memo(sections: list[Section]) -> bool:
    return sum(bool(one.heading and one.heading.number) for one in sections) > 1


def _joined(sections: list[Section]) -> list[Section]:
    """The sections, with a letterhead or a few lines before the first heading in the first one."""
    while len(sections) > 1:
        preface, first, *others = sections
        is_short = preface.heading is None and len(preface.text) <= LETTERHEAD
        if not (is_short or is_letterhead(preface.text)):
            break
        sections = [first._replace(paragraphs=preface.paragraphs + first.paragraphs), *others]
    return sections


def _section_documents(source: _Source, sections: list[Section]) -> Iterator[Document]:
    taken: Counter[str] = Counter()
    for section in sections:
        heading = section.heading
        own = _section_id(section)
        taken[own] += 1
        own = f"{own}-{taken[own]}" if taken[own] > 1 else own
        printed = heading.text if heading else ""
        is_title = not printed or printed == source.title
        yield Document(
            id=f"{source.id}:{own}" if own else source.id,
            title=source.title if is_title else f"{source.title} – {printed}",
            text=section.text,
            fields={"section_title": printed} if printed else {},
            locator=_place(section, source.id),
            language=source.language,
            valid_from=source.date,
            metadata={**source.metadata, **_trail_metadata(section)},
        )


def _section_id(section: Section) -> str:
    """What tells a section from the others of its file: its number, else its heading."""
    heading = section.heading
    if heading is None:
        return ""
    if heading.number and heading.kind in ("section", "schedule", "number"):
        chapter = _enclosing(section, "chapter")
        within = f"{chapter.number}." if chapter and heading.kind == "section" else ""
        name = heading.kind if heading.kind == "schedule" else ""
        return safe_id(f"{name}{'-' if name else ''}{within}{heading.number}")
    return safe_id(heading.text.casefold())[:60].strip("-./")


def _enclosing(section: Section, kind: str) -> Heading | None:
    return next((one for one in reversed(section.trail) if one.kind == kind), None)


def _place(section: Section, doc_id: str, moment: str = "") -> Locator:
    heading = section.heading
    part, chapter = _enclosing(section, "part"), _enclosing(section, "chapter")
    schedule = heading if heading and heading.kind == "schedule" else None
    number = heading.number or heading.text if heading and not schedule else ""
    return Locator(
        doc_id=doc_id,
        part=normal_part(part.number).upper() or None if part else None,
        chapter=chapter.number if chapter else None,
        schedule=(schedule.number or "1") if schedule else None,
        section=number or None,
        moment=moment or None,
        page=section.page or None,
    )


def _trail_metadata(section: Section) -> dict[str, str | list[str]]:
    above = [one.text for one in section.trail]
    named = {"part": _enclosing(section, "part"), "chapter": _enclosing(section, "chapter")}
    stated: dict[str, str | list[str]] = {"headings": above} if above else {}
    for key, heading in named.items():
        if heading is not None:
            stated[key] = heading.number
            if heading.title:
                stated[f"{key}_title"] = heading.title
    return stated


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────

# words for an act in a title: Finnish, English, Swedish, Hebrew, German, French
_LAW = re.compile(
    r"(?:laki|lain|kaari|asetus|järjestys)\b|^(?:laki|asetus)\s|\b(?:Act|Code|Ordinance"
    r"|Regulations?|Rules|Constitution|Statutes?)\b|^(?:lag|förordning)\b|(?:lag|lagen|balken"
    r"|balk|förordning|förordningen)\b|^(?:חוק|פקודת|תקנות|צו)\s|(?:gesetz|gesetzbuch|verordnung)"
    r"(?:es)?\b|^(?:Loi|Code|Décret|Ordonnance|Règlement|Arrêté)\b",
    re.IGNORECASE,
)
_ACT_NUMBER = re.compile(
    r"\s*\((?:c|ch|chapter|no|asp)\.?\s?\d{1,4}\)$", re.IGNORECASE
)  # of a year
_LAW_NUMBER = re.compile(r"\s*\(?\b(\d{1,4}/(?:18|19|20)\d\d|(?:18|19|20)\d\d:\d{1,4})\b\)?")
_MOMENT = re.compile(r"\((\d{1,2}|[a-z]|[א-ת]{1,2})\)\s*|(\d{1,2})\s+mom\.\s*|(\d{1,2})\.\s+")
_ITEM = re.compile(
    r"(?:[-–•*]\s|\(?(?:\d{1,2}\s?[a-z]?|[a-zåäö]|[א-ת]{1,2}\d?|[ivx]+)\)|\d{1,2}\.\s)"
)


UNFINISHED = (":", ";", ",", "–", "—")  # what follows belongs to the same moment
COUNTED = ("fi", "sv", "fr")  # where moments are counted; elsewhere one is cited by its number


def _is_act(title: str, sections: list[Section], language: str) -> bool:
    """In Hebrew the sections of an act have numbers alone."""
    kinds = ("section", "number") if language == "he" else ("section",)
    numbered = sum(one.heading is not None and one.heading.kind in kinds for one in sections)
    return numbered > 1 and bool(_LAW.search(title))


def _act_documents(source: _Source, sections: list[Section]) -> Iterator[Document]:
    """One document for each moment. Section numbers that begin anew in each chapter are cited with
    their chapter."""
    numbered = _LAW_NUMBER.search(source.title)
    law = _LAW_NUMBER.sub("", source.title, count=1).strip() if numbered else source.title
    law = _ACT_NUMBER.sub("", law)
    law_id = numbered[1] if numbered else source.id
    is_plain = not any(one.heading and one.heading.kind == "section" for one in sections)
    kinds = ("number",) if is_plain else ("section",)
    own = [one for one in sections if one.heading and one.heading.kind in kinds]
    places = {(one.heading.number, _chapter_of(one)) for one in own if one.heading}
    by_chapter = len(places) > len({number for number, _ in places})
    act = _Act(source, law, law_id, by_chapter)
    taken: Counter[str] = Counter()
    for section in sections:
        is_section = section.heading is not None and section.heading.kind in kinds
        moments = list(_moments(section)) if is_section else [("", section.text)]
        if len(moments) == 1 and source.language not in COUNTED and not _is_numbered(section):
            moments = [("", moments[0][1])]
        for moment, text in moments:
            document = _act_document(act, section, moment, text)
            taken[document.id] += 1
            if taken[document.id] > 1:  # a number that stands twice keeps both texts
                document = replace(document, id=f"{document.id}-{taken[document.id]}")
            yield document


class _Act(NamedTuple):
    source: _Source
    law: str
    law_id: str
    by_chapter: bool


def _chapter_of(section: Section) -> str:
    chapter = _enclosing(section, "chapter")
    return chapter.number if chapter else ""


def _act_document(act: _Act, section: Section, moment: str, text: str) -> Document:
    source, heading = act.source, section.heading
    place = _place(section, act.law_id, moment)
    status = status_of_text(text)  # a file does not say whether its act is in force
    schedule = f"schedule-{place.schedule}" if place.schedule else ""
    chapter = f"{place.chapter}l" if act.by_chapter and place.chapter else ""
    is_section = heading is not None and heading.kind in ("section", "number")
    own = schedule or (place.section or "" if is_section else _section_id(section))
    title = heading.title if heading else ""
    metadata: dict[str, object] = {
        **source.metadata,
        **_trail_metadata(section),
        "type": "statute",
        "law": act.law,
        "law_title": _ACT_NUMBER.sub("", source.title),
        "law_id": act.law_id,
        "section_title": title,
        "schedule": place.schedule or "",
        "status": status,
        "by_chapter": act.by_chapter,
    }
    document = Document(
        id=":".join(
            filter(None, (safe_id(act.law_id), chapter, safe_id(own) if own else "", moment))
        ),
        text=text,
        fields={"section_title": title} if title else {},
        locator=place,
        language=source.language,
        valid_from=source.date,
        metadata={key: value for key, value in metadata.items() if value not in ("", False, None)},
    )
    return replace(
        document,
        title=with_status_mark(_act_title(document, act, section), status, source.language),
    )


def _act_title(document: Document, act: _Act, section: Section) -> str:
    """The citation of a moment and the heading of its section."""
    place, heading = document.locator, section.heading
    above = _enclosing(section, "chapter") if act.by_chapter else None
    if place is not None and place.section and document.language in PLACE_NAMES:
        return title_of(document)
    printed = heading.text if heading else ""
    moment = f" ({place.moment})" if place and place.moment else ""
    unit = printed.removesuffix(heading.title).rstrip(" .:–—-") if heading else ""
    title = heading.title if heading else ""
    chapter = above.text.removesuffix(above.title).rstrip(" :–—-") if above else ""
    cited = " ".join(filter(None, (act.law, chapter, f"{unit}{moment}")))
    return " – ".join(filter(None, (cited, title)))


def _moments(section: Section) -> Iterator[tuple[str, str]]:
    """(number, text) of each moment of a section."""
    blocks = (block.text for block in section.paragraphs if block.text.strip())
    paragraphs = [part for text in blocks for part in NUMBERED_LINE.split(text)]
    if section.page:  # lines of a page: paragraphs cannot be told, numbers can
        paragraphs = _joined_lines(paragraphs)
    first = _MOMENT.match(paragraphs[0]) if paragraphs else None
    style = _style(first)
    number, texts = 0, list[str]()
    label = ""
    for paragraph in paragraphs:
        match = _MOMENT.match(paragraph)
        if style and match is not None and _style(match) == style:
            begins, mark = True, match[match.lastindex or 1]
        elif style:
            begins, mark = not texts, ""
        else:
            is_item = bool(_ITEM.match(paragraph)) or " | " in paragraph.split("\n")[0]
            goes_on = bool(texts) and texts[-1].rstrip().endswith(UNFINISHED)
            begins, mark = not texts or not (is_item or goes_on), ""
        if begins and texts:
            yield label, "\n\n".join(texts)
            texts = []
        if begins:
            number += 1
            label = mark or str(number)
        texts.append(paragraph)
    if texts:
        yield label, "\n\n".join(texts)


def _is_numbered(section: Section) -> bool:
    return _MOMENT.match(section.paragraphs[0].text) is not None


def _style(match: re.Match[str] | None) -> str:
    """How the moments of a section are numbered: by digits or letters in brackets, or before
    `mom.`; a number with a dot is an item unless the first paragraph has it."""
    if match is None:
        return ""
    mark = match[match.lastindex or 1]
    kind = "digit" if mark.isdecimal() else "letter"
    return f"{match.lastindex}{kind}"


def _joined_lines(lines: list[str]) -> list[str]:
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and not _MOMENT.match(line) and not paragraphs[-1].endswith((".", ":")):
            paragraphs[-1] = f"{paragraphs[-1]} {line}"
        else:
            paragraphs.append(line)
    return paragraphs
