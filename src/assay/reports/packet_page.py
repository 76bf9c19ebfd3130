"""The HTML page of a judging packet: it works from disk, by keyboard alone, light and dark.

What documents say is data and never markup: it stands in JSON blocks, in which no character can end
the block, and the page puts it in as text. The page runs only the one script whose hash its policy
names. The text of a document is a block of its own, read when somebody opens it, so that a
thousand letters do not make the page slow. The page itself speaks one language; the rubric and the
texts are as they are."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import msgspec
from markupsafe import Markup

from assay.judging.packets import Packet, PacketRow
from assay.judging.rubrics import Rubric, span, translated
from assay.judging.votes import LONGEST_REASON
from assay.reports.html import HERE, template_environment
from assay.reports.words import Words, page_table

# What could end a script block or begin a comment in it; two line ends that old browsers trip over.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class _PageDocument(msgspec.Struct, frozen=True):
    id: str
    fingerprint: str
    title: str
    question: str
    conclusion: str
    length: int  # of the text, in words


class _PageRow(msgspec.Struct, frozen=True):
    query: int
    document: int
    passages: tuple[str, ...]
    words: tuple[str, ...]


def render(packet: Packet, language: str = "en") -> str:
    words = Words(language)
    queries = {row.query_id: row for row in packet.rows}
    documents = {row.doc_id: row for row in packet.rows}
    rows = list(queries.values())
    script, style = _part("packet.js"), _part("packet.css")
    return (
        template_environment()
        .get_template("packet.html.j2")
        .render(
            packet=packet,
            rubric=translated(packet.rubric, language),
            usual=_usual(packet.rubric, language),
            t=page_table("packet", language),
            lang=language,
            dir=words.direction,
            policy="; ".join(
                (
                    "default-src 'none'",
                    f"script-src {_hash(script)}",
                    f"style-src {_hash(style)}",
                    "base-uri 'none'",
                    "form-action 'none'",
                )
            ),
            script=script,
            style=style,
            data=_block(_data(packet, rows, list(documents.values()), language)),
            texts=[_block(row.text) for row in documents.values()],
        )
    )


def _data(
    packet: Packet, queries: list[PacketRow], documents: list[PacketRow], language: str
) -> dict[str, object]:
    query_places = {row.query_id: place for place, row in enumerate(queries)}
    places = {row.doc_id: place for place, row in enumerate(documents)}
    return {
        "id": packet.id,
        "set": packet.set,
        "judge": packet.judge,
        "words": page_table("packet", language),
        "rubric": {
            "id": packet.rubric.id,
            "version": packet.version,
            "required": packet.rubric.rationale == "required",
            "longest": LONGEST_REASON,
            "rationale": packet.rubric.rationale,
            "unit": packet.rubric.unit,
            "grades": _scale(translated(packet.rubric, language)),
        },
        "queries": [{"id": row.query_id, "text": row.query, "type": row.type} for row in queries],
        "documents": [
            _PageDocument(
                row.doc_id,
                row.document,
                row.title,
                row.question,
                row.conclusion,
                len(row.text.split()),
            )
            for row in documents
        ],
        "rows": [
            _PageRow(query_places[row.query_id], places[row.doc_id], row.passages, words)
            for row, words in zip(packet.rows, packet.marked, strict=True)
        ],
    }


def _scale(rubric: Rubric) -> list[dict[str, object]]:
    """The grades, highest first, each with the key that gives it: its own digit, or on a scale
    beyond 9 its place from the lowest."""
    count = len(rubric.grades)
    own = rubric.top <= 9
    return [
        {
            "value": grade.value,
            "label": grade.label,
            "definition": grade.definition,
            "key": str(grade.value if own else count - 1 - place),
            "level": level(rubric, grade.value),
        }
        for place, grade in enumerate(rubric.grades)
    ]


STEPS = 9  # colours of a long scale, beside that of its lowest grade


def level(rubric: Rubric, grade: int) -> str:
    """Three quiet colours: an answer, a help, neither. Where two grades would share one, every
    grade has its own step from the lowest to the highest."""
    named = [_level(rubric, value) for value in rubric.values]
    if len(set(named)) == len(named):
        return _level(rubric, grade)
    place = len(named) - 1 - rubric.values.index(grade)
    return f"step-{round(STEPS * place / (len(named) - 1))}"


def _level(rubric: Rubric, grade: int) -> str:
    if grade >= rubric.highly_relevant_from:
        return "high"
    return "some" if grade >= rubric.relevant_from else "none"


def _usual(rubric: Rubric, language: str) -> str:
    """What a sound query has, where the rubric says so."""
    expected, said = rubric.expected_per_query, page_table("packet", language)
    rows = (
        (expected.highly_relevant, "usual_answers"),
        (expected.relevant, "usual_help"),
        (expected.judged, "usual_judged"),
    )
    what = [str(said[key]).format(span=span(bounds)) for bounds, key in rows if bounds]
    return str(said["usually_has"]).format(what=", ".join(what)) if what else ""


def _block(value: object) -> Markup:
    return Markup(msgspec.json.encode(value).decode().translate(_ESCAPES))


def _part(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))


def _hash(text: str) -> Markup:
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"'sha256-{digest}'")
