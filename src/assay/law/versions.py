"""Versions of a provision in time: dates as files write them, when a version was in force, and
texts that only say that a provision is repealed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Set
from datetime import date, timedelta

IN_FORCE, NOT_YET = "in force", "not yet in force"
SUPERSEDED, REPEALED, PLACEHOLDER = "superseded", "repealed", "placeholder"
# of a day that is asked about, where a whole act has one date: a section may have come later
ACT_ALONE = "the act was in force; since when this provision stands so is not known"
# what is said of a text that does not hold, in its own language, or in English
MARKS = {
    "en": {
        NOT_YET: "not yet in force",
        SUPERSEDED: "no longer in force",
        REPEALED: "repealed",
        PLACEHOLDER: "no text",
    },
    "fi": {
        NOT_YET: "ei vielä voimassa",
        SUPERSEDED: "ei enää voimassa",
        REPEALED: "kumottu",
        PLACEHOLDER: "ei tekstiä",
    },
    "he": {
        NOT_YET: "טרם נכנס לתוקף",
        SUPERSEDED: "אינו בתוקף עוד",
        REPEALED: "בוטל",
        PLACEHOLDER: "ללא נוסח",
    },
}
# the number of a paragraph or the term of a definition, before what is said of it
_OF_WHAT = r'\W*(?:\w{1,3}\W+)?(?:[”“"][^”“]{1,80}[”“"]\W+)?'
_GONE = r"(?:בוטל|נמחק|פקע)(?:ה|ו|ת|ים|ות)?(?: מכללא)?"
# the text of a provision that is no more: "(3) (repealed);", "”המנהל“ – (בוטלה).",
# "2 momentti on kumottu L:lla 21.5.2021/419."
GONE = re.compile(
    rf"{_OF_WHAT}(?:(?:repealed|revoked)(?:,? (?:by|on|from|with effect)\b[^;]{{0,120}})?|{_GONE})"
    r"\W*"
    rf"|{_OF_WHAT}\((?:[^()]{{1,30}} )?{_GONE}(?:[;,][^()]*)?\)\W*(?:\[[^\]]*\]\W*)?"
    r"|.{0,30} on kumottu\b.{0,40}",
    re.I,
)
# one that has no text here: left out, or taken up in the act that it changed
EMPTY = re.compile(
    rf"{_OF_WHAT}(?:omitted|reserved|spent|\(?(?:\w+ )?הושמט(?:ה|ו|ו?ת)?)\W*"
    rf"|{_OF_WHAT}ה\w+ שולבו? (?:: )?ב.{{1,250}}",
    re.I,
)
MAX_STATUS_CHARACTERS = 300  # characters of a text that only states its status (taste)
# of Finlex: the year and the number of the act that amended it last
AMENDED = re.compile(r"(?:fin@)?((?:19|20)\d\d)(\d{4})")
FINNISH_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")


def normal_date(value: object) -> str:
    """ISO, from '2015-05-01T00:00', '20150501', '2015-W18-5' or the Finnish '1.5.2015'."""
    text = "" if value is None else str(value).strip()
    if written := FINNISH_DATE.fullmatch(text):
        return f"{written[3]}-{int(written[2]):02}-{int(written[1]):02}"
    try:
        return date.fromisoformat(text.partition("T")[0]).isoformat()
    except ValueError:
        return text[:10]


def normal_version(value: object) -> str:
    """'fin@20230780' and '20230780' are one version."""
    text = "" if value is None else "".join(str(value).split()).casefold()
    return text.rpartition("@")[2]


def cited_version(version: str) -> str:
    """A version as people cite it: the amending act 780/2023 for '20230780' of Finlex."""
    number = AMENDED.fullmatch(version)
    return f"{int(number[2])}/{number[1]}" if number else version


def status_of_text(text: str) -> str:
    """`repealed` or `placeholder` where a text says nothing else; else empty."""
    line = " ".join(text.split()) if len(text) <= MAX_STATUS_CHARACTERS else ""
    if not line:
        return ""
    return REPEALED if GONE.fullmatch(line) else PLACEHOLDER if EMPTY.fullmatch(line) else ""


def mark_of(status: str, language: str) -> str:
    """The mark beside a text that is not in force: בוטל, kumottu, repealed."""
    return MARKS.get(language, MARKS["en"]).get(status, "")


def with_status_mark(title: str, status: str, language: str) -> str:
    """A title with the mark of its status, once; without today's mark where the text is in force on
    the day in question."""
    mark = mark_of(status, language)
    if status == IN_FORCE:
        for other in MARKS.get(language, MARKS["en"]).values():
            title = title.removesuffix(f" ({other})")
    return f"{title} ({mark})" if mark and not title.endswith(f"({mark})") else title


def holds_on(day: str, valid_from: str, valid_to: str) -> bool:
    """Whether a period in ISO dates includes a day; a date that is a year alone means the whole
    year."""
    return not (
        day[: len(valid_from)] < valid_from or (valid_to and day[: len(valid_to)] > valid_to)
    )


def valid_periods(versions: Iterable[tuple[Hashable, object, object]]) -> list[tuple[str, str]]:
    """(valid_from, valid_to) of each (place, valid_from, valid_to) in ISO dates. A version that
    does not say when it ends has ended the day before the next version of its place began; None is
    no place."""
    read = [(place, normal_date(begins), normal_date(ends)) for place, begins, ends in versions]
    starts: dict[Hashable, set[str]] = {}
    for place, begins, _ in read:
        if place is not None and begins:
            starts.setdefault(place, set()).add(begins)
    return [
        (begins, ends or _day_before(starts.get(place, set()), begins))
        for place, begins, ends in read
    ]


def _day_before(starts: Set[str], begins: str) -> str:
    following = min((start for start in starts if start > begins), default="")
    try:
        return (date.fromisoformat(following) - timedelta(days=1)).isoformat()
    except ValueError:
        return ""  # none follows, or it tells only the year
