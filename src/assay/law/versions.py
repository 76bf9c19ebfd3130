"""Versions of one place in time: dates as files write them, and when a version held."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Set
from datetime import date, timedelta

# the text of a provision that is no more: "(3) (repealed);",
# "2 momentti on kumottu L:lla 21.5.2021/419."
REPEALED = re.compile(
    r"\W*(?:\w{1,3}\W+)?(?:repealed|(?:בוטל|הושמט|נמחק|פקע)\w?)\W*|.{0,20} on kumottu\b.{0,40}",
    re.I,
)
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


def is_repealed(text: str) -> bool:
    """Whether a text only says that what stood there is repealed."""
    return bool(REPEALED.fullmatch(text.strip()))


def holds_on(day: str, valid_from: str, valid_to: str) -> bool:
    """ISO dates; of a date that is a year alone, the whole year counts."""
    return not (
        day[: len(valid_from)] < valid_from or (valid_to and day[: len(valid_to)] > valid_to)
    )


def validity(versions: Iterable[tuple[Hashable, object, object]]) -> list[tuple[str, str]]:
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
