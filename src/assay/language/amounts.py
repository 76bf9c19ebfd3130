"""Figures as they are printed: what number a text is, which numbers it has, and in what unit.

Finnish reports write "-38 396 165,19", English ones "(1,234.5)", and a heading says "1 000 €" for a
whole column. A comma or a full stop with three digits after it can be read two ways; where a whole
text is one figure the Finnish way is taken, and where figures are looked for in a text both are."""

from __future__ import annotations

import re

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
    # the unit, how headings and titles write it, and by what a figure is multiplied
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
_UNITS = tuple((unit, re.compile(pattern, re.IGNORECASE)) for unit, pattern, _ in UNITS)
_FACTORS = {unit: factor for unit, _, factor in UNITS}


def number_in(text: str) -> float | None:
    """The number that a cell is; None where it is no figure, or a dash alone."""
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
    numbers: set[float] = set()
    for found in _IN_TEXT.finditer(text.translate(_BLANKS)):
        readings = _readings(found["figure"])
        numbers.update(-value if found["sign"] else value for value in readings)
    return frozenset(numbers)


def unit_in(text: str) -> str:
    """The unit that a heading, a title or a cell states."""
    plain = text.translate(_BLANKS)
    return next((unit for unit, pattern in _UNITS if pattern.search(plain)), "")


def without_unit(text: str) -> str:
    """A heading without the unit it states: 2024 for 2024 1 000 €; as it is where that is all."""
    plain = text.translate(_BLANKS)
    pattern = next((pattern for _, pattern in _UNITS[:2] if pattern.search(plain)), None)
    rest = "" if pattern is None else " ".join(pattern.sub(" ", plain).strip(" ,;:()").split())
    return rest or text


def factor_of(unit: str) -> int:
    """By what a figure in this unit is multiplied to be in the plain one."""
    return _FACTORS.get(unit, 1)


def factors_in(text: str) -> frozenset[int]:
    """By what the figures of a text may be multiplied, by the units it states."""
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
