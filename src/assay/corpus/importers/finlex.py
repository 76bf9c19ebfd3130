"""Import Finnish acts from JSON lines or a JSON array, one document for each moment.

Line: law, law_id ("410/2015"), finlex_version ("fin@20230780"), node_id, part, chapter, section_id
("110a"), section_title, moment, text, effective_from, in_force, tags, anchors, source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from assay.core.types import Document, Locator
from assay.corpus.importers.foreign_json import iter_records
from assay.corpus.importers.kinds import Options, Placed, Problem, Unit, files_below, path_of
from assay.law.citation import Scheme
from assay.law.fi import place_name
from assay.law.places import normal_chapter, normal_part, read_section, without_spaces
from assay.law.versions import IN_FORCE, SUPERSEDED, status_of_text, with_status_mark

SCHEME = Scheme(language="fi")
VERSION = 3  # raised when the same source gives other documents
OPTIONS: tuple[str, ...] = ()


class FinlexMoment(msgspec.Struct, frozen=True, kw_only=True):
    law: str
    law_id: str
    section_id: str
    text: str
    node_id: str = ""
    finlex_version: str = ""
    law_key: str = ""
    part: str | None = None
    part_title: str | None = None
    chapter: str | None = None
    chapter_title: str | None = None
    section_title: str | None = None
    moment: str | int | None = None
    effective_from: str | None = None
    effective_to: str | None = None
    in_force: bool | None = None
    tags: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    source: dict[str, Any] = {}


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".jsonl", ".json"))


def read(source: str, unit: Unit, options: Options) -> Iterator[Placed | Problem]:
    names = (short_name(unit.id),)
    path = path_of(source, unit)
    anew = _numbered_anew(record for _, record in iter_records(path, FinlexMoment))
    for where, record in iter_records(path, FinlexMoment):
        if isinstance(record, Problem):
            yield record
        elif not record.law_id or not record.section_id:
            yield Problem(code="no-id", where=where, reason="no law_id or section_id")
        else:
            yield where, document(record, names, by_chapter=record.law_id in anew)


def _numbered_anew(records: Iterable[FinlexMoment | Problem]) -> set[str]:
    """The acts whose sections begin anew in each chapter: there, 5:21 is not 6:21."""
    chapters: dict[tuple[str, str], set[str]] = {}
    for record in records:
        if isinstance(record, FinlexMoment):
            place = record.law_id, without_spaces(record.section_id)
            chapters.setdefault(place, set()).add(record.chapter or "")
    return {law for (law, _), named in chapters.items() if len(named) > 1}


def short_name(stem: str) -> str:
    """The name a file was given is often the name the law goes by: 'hankintalaki-1397-2016' is
    hankintalaki."""
    return re.sub(r"[-_]?\d+[-_]\d+$", "", stem).replace("_", " ").lower()


def document(
    moment: FinlexMoment, names: tuple[str, ...] = (), *, by_chapter: bool = False
) -> Document:
    """`by_chapter` for an act that is cited by chapter and section."""
    cited = read_section(moment.section_id, "fi")
    section = cited.section if cited else without_spaces(moment.section_id)
    number = str(moment.moment) if moment.moment is not None else cited.moment if cited else ""
    chapter = normal_chapter(moment.chapter) or (cited.chapter if cited else "")
    place = place_name(section, number, chapter=chapter if by_chapter else "")
    status = status_of_text(moment.text) or (SUPERSEDED if moment.in_force is False else IN_FORCE)
    title = " – ".join(filter(None, (f"{moment.law} {place}", moment.section_title)))
    parts = (moment.law_id, moment.finlex_version, section, number)
    return Document(
        id=moment.node_id or ":".join(part for part in parts if part),
        title=with_status_mark(title, status, "fi"),
        text=moment.text,
        fields={"section_title": moment.section_title} if moment.section_title else {},
        locator=Locator(
            doc_id=moment.law_id,
            part=normal_part(moment.part).upper() or None,
            chapter=chapter or None,
            section=section,
            moment=number or None,
            version=moment.finlex_version or None,
        ),
        language="fi",
        valid_from=moment.effective_from or "",
        valid_to=moment.effective_to or "",
        metadata=_metadata(moment, names)
        | {"status": status}
        | ({"by_chapter": True} if by_chapter else {}),
    )


def _metadata(
    moment: FinlexMoment, names: tuple[str, ...]
) -> dict[str, str | int | list[str] | None]:
    year = moment.law_id.rpartition("/")[2]
    stated: dict[str, str | int | list[str] | None] = {
        "type": "statute",
        "law": moment.law,
        "law_id": moment.law_id,
        "law_names": [name for name in names if name and name != moment.law.lower()],
        "year": int(year) if year.isdecimal() else None,
        "part": moment.part,
        "part_title": moment.part_title,
        "chapter": moment.chapter,
        "chapter_title": moment.chapter_title,
        "section_title": moment.section_title,
        "in_force": moment.in_force,
        "tags": list(moment.tags),
        "anchors": list(moment.anchors),
        "eId": eid(str(moment.source.get("xpath", ""))),
        "url": moment.source.get("finlex_url"),
    }
    return {key: value for key, value in stated.items() if value not in (None, "", [])}


def eid(xpath: str) -> str:
    named = re.search(r"@eId='([^']+)'", xpath)
    return named[1] if named else ""
