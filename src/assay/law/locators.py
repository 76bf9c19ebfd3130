"""Print a locator as one line of text, and read it back:
`410/2015?chapter=13&section=110a&moment=2&version=fin%4020230780`."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from assay.core.errors import InputError
from assay.core.types import Locator

PARTS = tuple(name for name in Locator.__struct_fields__ if name != "doc_id")


def format_locator(locator: Locator) -> str:
    parts = {name: str(value) for name in PARTS if (value := getattr(locator, name)) is not None}
    begin = "" if locator.doc_id is None else quote(locator.doc_id, safe="/:") or "%"
    return f"{begin}?{urlencode(parts)}" if parts else begin


def parse_locator(text: str) -> Locator:
    begin, _, query = text.partition("?")
    parts: dict[str, str] = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(parts) - set(PARTS))
    if unknown or (query and not parts):
        raise InputError(
            f"not a locator: {text!r}",
            hint=f"Expected `document?part=value&…` with {', '.join(PARTS)}.",
        )
    # a lone "%" stands for a document whose id is empty, which is not the same as no document
    doc_id = None if not begin else "" if begin == "%" else _unquoted(begin)
    try:
        return msgspec.convert({**parts, "doc_id": doc_id}, Locator, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"not a locator: {text!r}: {error}") from error


def _unquoted(text: str) -> str:
    return dict(parse_qsl(f"id={text.replace('+', '%2B')}", keep_blank_values=True))["id"]
