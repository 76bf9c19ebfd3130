"""Help texts list kinds and formats by hand, since a table is not loaded for --help. They are what
the tables have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click
import pytest
import typer

import assay.cli
from assay import formats
from assay.corpus.importers.kinds import KINDS
from assay.engines.running import BASELINES
from assay.judging.perturb import LANGUAGES as PERTURBED
from assay.law.spellings import GRAMMARS
from assay.reports.words import LANGUAGES
from assay.search.dense import SHIPPED

LISTED: dict[tuple[str, str], Iterable[str]] = {
    ("corpus import", "kind"): KINDS,
    ("gold convert", "source_format"): formats.GOLD_FORMATS,
    ("gold convert", "target_format"): formats.GOLD_FORMATS,
    ("gold export", "to"): formats.EXCHANGE_FORMATS,
    ("score", "run"): formats.RUN_FORMATS,
    ("score", "engine"): BASELINES,
    ("index", "encoder"): SHIPPED,
    ("score", "language"): LANGUAGES,
    ("report", "language"): LANGUAGES,
    ("gold perturb", "language"): PERTURBED,
    ("cite", "language"): [row.language for row in GRAMMARS],
}


def help_of(command: str, parameter: str) -> str:
    """The help of one parameter, in lower case."""
    part: Any = typer.main.get_command(assay.cli.app)
    for name in command.split():
        part = part.get_command(click.Context(part), name)
    (text,) = [param.help for param in part.params if param.name == parameter]
    return str(text).lower()


@pytest.mark.parametrize(("command", "parameter"), LISTED)
def test_a_help_text_names_all_that_the_table_has(command: str, parameter: str) -> None:
    words = re.findall(r"[\w-]+", help_of(command, parameter))
    missing = [name for name in LISTED[command, parameter] if name not in words]
    assert not missing, f"the help of `assay {command}` does not name {', '.join(missing)}"


@pytest.mark.parametrize(
    ("command", "parameter"),
    [
        ("corpus import", "kind"),
        ("gold convert", "source_format"),
        ("gold convert", "target_format"),
        ("gold export", "to"),
    ],
)
def test_a_help_text_that_is_a_list_names_nothing_else(command: str, parameter: str) -> None:
    names = re.split(r", | or ", help_of(command, parameter).rstrip("."))
    assert names == list(LISTED[command, parameter])
