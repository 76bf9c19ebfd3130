"""The one value type of the citation modules, and what a corpus may say about its own citations."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["statute", "regulation", "letter", "opinion", "case", "reference"]


# A reference is an address inside Akoma Ntoso documents, `/akn/…#eId`: it stands in records and not in running text.


class Citation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One citation: where it stands in the text, what it names, and its normal form.

    `parts` holds the pieces by name (code, law, chapter, section, sub, moment, number, name, year, …); `normal` is
    their printed form, which parses back to the same kind and parts. `name` is the addressee of a letter that the text
    names beside its number: evidence when the number is wrong, and no part of what the citation is.
    """

    text: str
    start: int
    end: int
    kind: Kind
    language: str
    normal: str
    parts: dict[str, str]
    name: str = ""


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """What a citation means when it leaves something out.

    `code` is the code that a bare "Section 1" belongs to; `regulation` a pattern of numbers that are regulations even
    when the text says "Section"; `laws` known names of laws, which settle where a name in running text ends.
    """

    language: str = ""
    code: str = ""
    regulation: str = ""
    laws: tuple[str, ...] = ()


PLAIN = Scheme()
