"""Secrets from the environment: a table names them (`env:NAME`), and no output shows them.

A file, an error, a receipt and the output of `engines test` have only the name. The answer of a
server may repeat a secret, or a part of it: `without_secrets` removes it before anything is shown
or kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from assay.core.errors import InputError
from assay.core.redaction import MASK, without_password

ENV_REFERENCE = re.compile(r"\benv:([A-Za-z_][A-Za-z0-9_]*)")
SHORTEST = 6  # taste: a part of a key that is this long is taken out as the key is


def secret_names(text: str) -> list[str]:
    """The variables that a text names."""
    return ENV_REFERENCE.findall(text)


def with_secrets(text: str, where: str, spelled: Callable[[str], str] = str) -> str:
    """The text with every `env:NAME` replaced by its value, as `spelled` writes it. A variable that
    is not set is an error with its name."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "").strip()
        if not found:
            raise InputError(
                f"the environment does not set {match[1]}",
                where=where,
                hint=f"Set it first: export {match[1]}=…",
            )
        return spelled(found)

    return ENV_REFERENCE.sub(value, text)


def values_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The values of all variables that the texts name."""
    names = {name for text in texts for name in secret_names(text)}
    values = (os.environ.get(name, "").strip() for name in sorted(names))
    return tuple(value for value in values if value)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, without parts of them of six characters or more, and without
    passwords in addresses."""
    text = without_password(text)
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) <= SHORTEST:
            text = text.replace(secret, MASK)
            continue
        parts = {secret[at : at + SHORTEST] for at in range(len(secret) - SHORTEST + 1)}
        covered = [False] * len(text)
        for at in range(len(text) - SHORTEST + 1):
            if text[at : at + SHORTEST] in parts:
                covered[at : at + SHORTEST] = [True] * SHORTEST
        if any(covered):
            text = _masked(text, covered)
    return text


def _masked(text: str, covered: list[bool]) -> str:
    shown = []
    for at, character in enumerate(text):
        if not covered[at]:
            shown.append(character)
        elif at == 0 or not covered[at - 1]:
            shown.append(MASK)
    return "".join(shown)
