"""A gate that is written wrong is told before anything is scored: a measure or a slice that a gold
set does not have would show only after engines have run for an hour."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from assay import formats
from assay.core.errors import InputError
from assay.core.types import GoldSet
from assay.evaluation.gate_limits import golden_mistake, latency_mistake
from assay.evaluation.gate_values import ALIASES, LATENCY, SLICES, beyond_scale
from assay.evaluation.gates import is_golden_measure
from assay.evaluation.golden_figures import FIGURES
from assay.evaluation.measures import did_you_mean, parse_measure, parse_measures
from assay.evaluation.receipts import measure_lines
from assay.workbench.config import Config, GateConfig
from assay.workbench.suite import suite

GOLDEN_SLICES = ("category", "test_type", "language", "perturbation")


def check_gates(config: Config, file: Path) -> None:
    """Every gate against the gold sets it is for."""
    if not config.gates:
        return
    sets: dict[str, GoldSet] = {}
    for name, settings in config.gold.items():
        with contextlib.suppress(InputError):  # it is told when the set is scored
            sets[name] = formats.read_gold(Path(settings.path))
    golden = {name: any(query.checks for query in gold.queries) for name, gold in sets.items()}
    for number, gate in enumerate(config.gates):
        for name in _sets_of(gate, golden):
            wrong, hint = _mistake(gate, sets[name], name, config, is_golden=golden[name])
            if wrong:
                raise InputError(wrong, where=f"{file}: gates[{number}]", hint=hint)


def _sets_of(gate: GateConfig, golden: dict[str, bool]) -> Iterator[str]:
    """A gate that names no set is for those that have its measure; where all are of one kind, for
    all."""
    one_kind = len(set(golden.values())) == 1
    for name, is_golden in golden.items():
        if gate.gold not in ("", name):
            continue
        any_kind = gate.gold or one_kind or gate.measure in ALIASES
        if any_kind or is_golden_measure(gate.measure) == is_golden:
            yield name


def _mistake(
    gate: GateConfig, gold: GoldSet, name: str, config: Config, *, is_golden: bool
) -> tuple[str, str]:
    """What is wrong with it, and a hint; empty where nothing is."""
    if is_golden:
        if ALIASES.get(gate.measure, gate.measure) not in FIGURES:
            said = f"the golden set {name} has no measure {gate.measure!r}"
            return said, f"It has {', '.join(FIGURES)}."
        wrong, hint = golden_mistake(gate)
        return (wrong, hint) if wrong else _slice_mistake(gate, gold, name, GOLDEN_SLICES)
    if gate.measure in LATENCY:
        return latency_mistake(gate)
    settings = config.gold[name]
    wanted = parse_measures(settings.measures or suite(gold, Path(settings.path)))
    lines = measure_lines([str(measure) for measure in wanted])
    known = {each: line.measure for line in lines for each in (line.key, line.measure)}
    names = [line.measure for line in lines]
    hint = f"It has {', '.join(names)}; `measures` of the gold set asks for more."
    try:
        spelt = known.get(gate.measure) or str(parse_measure(gate.measure))
    except InputError as error:
        near = did_you_mean(gate.measure, names)
        return f"gate on {gate.measure}: {error.message}", f"{near}{hint}"
    if spelt not in known:
        return f"gate on {gate.measure}: {name} is not scored by it", hint
    if wrong := beyond_scale(gate, spelt):
        return f"gate on {gate.measure}: {wrong}", "0.6 is 60%, and a drop of 0.02 is two points."
    return _slice_mistake(gate, gold, name, SLICES)


def _slice_mistake(
    gate: GateConfig, gold: GoldSet, name: str, kinds: tuple[str, ...]
) -> tuple[str, str]:
    if gate.slice == "overall":
        return "", ""
    kind, _, part = gate.slice.partition(":")
    attribute = "topic" if kind == "practice_area" and gold.from_logs else kind
    known = {
        f"{each}:{value}"
        for each in kinds
        for query in gold.queries
        if (value := getattr(query, each, "") or query.checks.get(each) or query.extra.get(each))
    }
    found = {
        str(getattr(query, attribute, "") or query.checks.get(kind) or query.extra.get(kind) or "")
        for query in gold.queries
    }
    if kind and part in found:
        return "", ""
    listed = ", ".join(sorted(known)[:20]) or "no slices in this set"
    return f"gate on slice {gate.slice!r}: no query of {name} is in it", f"There are {listed}."
