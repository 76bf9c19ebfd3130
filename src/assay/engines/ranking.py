"""Whether a table is asked in its store's own way, or ranked as our index ranks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

OURS = "assay"


def ranked(kind: str, plain: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """`plain`, or with `ranking = "assay"` our ranking on what `assay index --into` loaded."""

    def make(name: str, table: Any) -> Any:
        if table.ranking != OURS:
            return plain(name, table)
        carried = import_module("assay.engines.carried")
        return carried.CarriedEngine(name, carried.carrier_of(kind, name, table))

    return make


def check_ranking(ranking: str) -> tuple[str, str] | None:
    if ranking in ("", OURS):
        return None
    return "ranking", f"{ranking!r} is not {OURS!r}: leave it out for the store's own"
