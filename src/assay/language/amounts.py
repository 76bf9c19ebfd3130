"""Read printed figures: the number that a text is, the numbers it contains, and their units.

Finnish reports write "-38 396 165,19", English ones "(1,234.5)", and a heading says "1 000 €" for a
whole column. A comma or a full stop with three digits after it can be read two ways; where a whole
text is one figure the Finnish way is taken, and where figures are looked for in a text both are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " "))
_MINUS = "-–−‒—‐‑"
_FIGURE = (
    r"(?:\d{1,3}(?:[ .']\d{3})+(?:,\d+)?(?!\d)"  # 12 345,6 and 12.345,6
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)"  # 12,345.6
    r"|\d+[.,]\d+|\d+)"
)
_WHOLE = re.compile(
    rf"(?P<sign>[{_MINUS}+±]?)\s?(?P<open>\(?)\s?(?P<inner>[{_MINUS}]?)(?P<figure>{_FIGURE})"
    r"\s?\)?\s?(?:milj\.?\s?(?:€|euroa|e)|t€|m€"
    r"|%|‰|€|euroa|eur|kpl|pv|htv|hlö|as\.|m2|m²|m3|m³|ha|km|h|t)?(?:\s?/\s?as\.?\w*)?"
)
_IN_TEXT = re.compile(rf"(?:(?<![^\s(|:;=])(?P<sign>[{_MINUS}]))?(?<!\d)(?P<figure>{_FIGURE})")
UNITS = (
    # the unit, how headings and titles write it, and what a figure is multiplied by
    (
        "1 000 €",
        # not the end of 21 000 €, and yet after a year: 2024 1 000 €
        r"(?<!\d)(?<!\b\d )(?<!\b\d\d )(?<!\b\d\d\d )1[ .]?000\s*(?:€|e\b|euro\w*|eur\b)"
        r"|\bt\s?€|\bteur\b|\bk€"
        r"|\btuhat\w*\s+euro|tuhansi\w+ euro",
        1_000,
    ),
    ("milj. €", r"\bmilj(?:\.|oon\w*)?\s*(?:€|e\b|euro\w*|eur\b)|\bm€|\bme\b|\bmeur\b", 1_000_000),
    ("€/asukas", r"(?:€|eur\w*)\s?/\s?as(?:ukas|\b|\.)|euroa? (?:per )?asuk\w+", 1),
    ("%", r"%|\bprosent\w*|\bpros\.", 1),
    ("€", r"€|\beuro\w*|\beur\b", 1),
    ("htv", r"\bhtv\w*|\bhenkilötyövuo\w*", 1),
    ("pv", r"\bpv\b|\bpäivää\b", 1),
    ("asukasta", r"\basukas(?:määrä|luku)\w*", 1),
    ("kpl", r"\bkpl\b|\blkm\b|\blukumäär\w*", 1),
    ("m²", r"\bm2\b|\bm²|\bneliömetri\w*|\bk-?m2\b", 1),
    ("ha", r"\bha\b|\bhehtaari\w*", 1),
)
MONEY = ("€", "1 000 €", "milj. €")
AMOUNTS = (*MONEY, "€/asukas", "%")
_ALONE = re.compile(rf"[{_MINUS}+±]?\s?\(?\s?[{_MINUS}]?{_FIGURE}\s?\)?")
_SUM = re.compile(r"(\d(?:[\d ]*\d)?(?:[.,]\d+)?)\s*$")
_YEAR = re.compile(r"(?:.*[ .])?(?:19|20)\d\d")
_ENDING = re.compile(r"\w*[.)]*")
_UNITS = tuple((unit, re.compile(pattern, re.IGNORECASE)) for unit, pattern, _ in UNITS)
_UNIT_AHEAD = re.compile(r"[ ()]*+(?=[a-z1%€])", re.IGNORECASE)
_FACTORS = {unit: factor for unit, _, factor in UNITS}


def number_in(text: str) -> float | None:
    """The number that a cell holds; None where it is not a figure, or a dash alone."""
    found = _WHOLE.fullmatch(text.translate(_BLANKS).strip())
    if found is None:
        return None
    value = _readings(found["figure"])[0]
    below = bool(found["sign"] or found["inner"]) and found["sign"] not in ("+", "±")
    in_brackets = bool(found["open"]) and text.rstrip().endswith(")")
    return -value if below or in_brackets else value


def numbers_in(text: str) -> frozenset[float]:
    """Every number of a text, in each way it can be read; a dash is a minus where nothing stands
    before it."""
    return frozenset(value for value, _ in amounts_in(text))


def amounts_in(text: str) -> Iterator[tuple[float, str]]:
    """Every number of a text with the unit right after it, if any; a number in brackets may be
    negative. The 1 000 of "(1 000 €)" is part of a unit."""
    plain = text.translate(_BLANKS)
    for found in _IN_TEXT.finditer(plain):
        start, end = found.span()
        in_bracket = plain[start - 1 : start] == "("
        if in_bracket and _UNITS[0][1].match(plain, found.start()):
            continue
        unit = ""
        if next_word := _UNIT_AHEAD.match(plain, end):
            at = next_word.end()
            unit = next((unit for unit, pattern in _UNITS if pattern.match(plain, at)), "")
        for value in _readings(found["figure"]):
            yield (-value if found["sign"] else value), unit
            if in_bracket and plain[end : end + 1] == ")":
                yield -value, unit


def amount_in(text: str) -> tuple[float, str] | None:
    """The amount or share that a text states, with its unit: -565 051 €, 9 552 (1 000 €), 12,3
    %."""
    plain = text.translate(_BLANKS).strip()
    figure = _ALONE.match(plain)
    if figure is None:
        return None
    rest = plain[figure.end() :].strip(" ()")
    found = ((unit, pattern.match(rest)) for unit, pattern in _UNITS if unit in AMOUNTS)
    unit = next((unit for unit, it in found if it and _ENDING.fullmatch(rest, it.end())), "")
    value = number_in(figure[0])
    return (value, unit) if unit and value is not None else None


def is_amount(number: float, unit: str, found: tuple[float, str], factors: Iterable[int]) -> bool:
    """Whether an amount is the one found, converted between units of money. A number without a unit
    beside it may be in any of the factors."""
    value, own = found
    of_money = unit in MONEY
    if own and own != unit and not (of_money and own in (*MONEY, "€/asukas")):
        return False
    times = (factor_of(own),) if own else (*factors,) if of_money else (1,)
    wanted = number * factor_of(unit)
    return any(math.isclose(wanted, value * factor, rel_tol=1e-12) for factor in times)


def unit_in(text: str) -> str:
    """The unit that a heading, a title or a cell states."""
    plain = text.translate(_BLANKS)
    return next((unit for unit, pattern in _UNITS if pattern.search(plain)), "")


def stated_unit(title: str) -> str:
    """The unit that a title states for the figures under it; not that of an amount it mentions, as
    in "vastuut ovat 208,6 milj. euroa"."""
    plain = title.translate(_BLANKS)
    for unit, pattern in _UNITS:
        found = [(it, _is_of_sum(it)) for it in pattern.finditer(plain)]
        if not all(of_sum for _, of_sum in found):
            return unit
        for it, _ in found:  # the euros of millions are no unit either
            plain = plain[: it.start()] + " " * len(it[0]) + plain[it.end() :]
    return ""


def _is_of_sum(unit: re.Match[str]) -> bool:
    before = _SUM.search(unit.string[: unit.start()])
    return before is not None and not _YEAR.fullmatch(before[1])


def without_unit(text: str) -> str:
    """A heading without the unit it states: 2024 for 2024 1 000 €; as it is where that is all."""
    plain = text.translate(_BLANKS)
    pattern = next((pattern for _, pattern in _UNITS[:2] if pattern.search(plain)), None)
    rest = "" if pattern is None else " ".join(pattern.sub(" ", plain).strip(" ,;:()").split())
    return rest or text


def factor_of(unit: str) -> int:
    """The factor that converts a figure in this unit to the plain unit."""
    return _FACTORS.get(unit, 1)


def factors_in(text: str) -> frozenset[int]:
    """The factors by which the figures of a text may be multiplied, from the units it states."""
    plain = text.translate(_BLANKS)
    return frozenset({1, *(_FACTORS[unit] for unit, pattern in _UNITS if pattern.search(plain))})


def _readings(figure: str) -> list[float]:
    """The ways to read a figure, the Finnish one first."""
    bare = re.sub(r"[ ']", "", figure)
    if "," in bare and "." in bare:
        decimal = max(bare.rfind(","), bare.rfind("."))
        whole = re.sub(r"[.,]", "", bare[:decimal])
        return [float(f"{whole}.{bare[decimal + 1 :]}")]
    if bare.count(",") > 1 or bare.count(".") > 1:
        return [float(re.sub(r"[.,]", "", bare))]
    grouped = re.fullmatch(r"(\d{1,3})([.,])(\d{3})", bare)
    if grouped is None:
        return [float(bare.replace(",", "."))]
    thousands, decimals = float(grouped[1] + grouped[3]), float(f"{grouped[1]}.{grouped[3]}")
    return [thousands, decimals] if grouped[2] == "." else [decimals, thousands]
