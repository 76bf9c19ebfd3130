"""The golden suite's report as Markdown, in English or Finnish, from a results object: a saved file
gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.core.types import by_need, is_variant
from assay.evaluation.changes import changes
from assay.reports.golden_words import (
    COUNTS,
    FINNISH_FAILURES,
    LANGUAGES,
    MEASURES,
    PERTURBATIONS,
    WORDS,
    Words,
    expected_text,
    hit_text,
    inline,
    stood_text,
)

__all__ = [
    "FINNISH_FAILURES",
    "LANGUAGES",
    "MEASURES",
    "PERTURBATIONS",
    "WORDS",
    "Words",
    "changes",
    "expected_text",
    "failed_entries",
    "hit_text",
    "markdown",
]


def markdown(
    results: Mapping[str, Any],
    *,
    language: str = "en",
    gates: Sequence[Mapping[str, Any]] | None = None,
    robustness: Mapping[str, Any] | None = None,
    changed: Mapping[str, Any] | None = None,
) -> str:
    """The whole report. `gates` and `robustness` are those in the results unless given; `changed`
    is what `changes` says against other results."""
    if language not in LANGUAGES:
        raise UsageError(
            f"unknown report language {language!r}", hint=f"Known: {', '.join(LANGUAGES)}."
        )
    say = Words(language)
    checks = results.get("gates", ()) if gates is None else gates
    lines = [*_head(results, checks, say), *_findings(results, say), *_changes(changed, say)]
    lines += [*_measures(results, say), *_gates(checks, say)]
    costs = robustness or results.get("robustness")
    kinds = ("by_category", "by_test_type", "by_language", *(() if costs else ("by_perturbation",)))
    for kind in kinds:
        lines += _slice(results, kind, say)
    if costs:
        lines += _robustness(costs, say)
    lines += _failures(results, say)
    return "\n".join(lines).rstrip() + "\n"


def failed_entries(
    results: Mapping[str, Any], *, variants: bool = False
) -> list[Mapping[str, Any]]:
    """The questions that failed, MUST first, then by category and id; with `variants` the perturbed
    ones instead."""
    entries = results["per_query"]
    known = {entry["query_id"] for entry in entries}
    failed = [
        entry for entry in entries if not entry["passed"] and variants == is_variant(entry, known)
    ]
    return sorted(failed, key=by_need)


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────


def _head(
    results: Mapping[str, Any], gates: Sequence[Mapping[str, Any]], say: Words
) -> Iterator[str]:
    entries = results["per_query"]
    yield f"# {say('title')}"
    yield ""
    if gates:
        yield f"**{_verdict(gates, say)}**"
        yield ""
    gold = results.get("receipt", {}).get("gold", {}).get("name", "")
    for key, value in (
        ("engine", results.get("engine")),
        ("set", gold),
        ("time", results.get("timestamp")),
    ):
        if value:
            yield f"- {say(key)}: {value}"
    variants = int(results["overall"].get("n_variants") or 0)
    total = len(entries) - variants
    passed = total - len(failed_entries(results))
    yield f"- {say('questions')}: {total}, {passed} {say('passed')}"
    if variants:
        yield f"- {say('variants', n=variants)}"


def _verdict(gates: Sequence[Mapping[str, Any]], say: Words) -> str:
    names = {
        status: ", ".join(_gate_name(gate, say) for gate in gates if gate["status"] == status)
        for status in ("fail", "pass", "inconclusive")
    }
    words = (
        say("verdict_fail", names=names["fail"])
        if names["fail"]
        else say("verdict_pass" if names["pass"] else "verdict_none")
    )
    waiting = names["inconclusive"]
    return f"{words} ({say('not_measured', names=waiting)})" if waiting else words


def _findings(results: Mapping[str, Any], say: Words) -> Iterator[str]:
    """What was found in the set before the run."""
    found = results.get("receipt", {}).get("findings", ())
    if found:
        yield from _section(
            say("findings"), [f"- {item['where']}: {inline(say.finding(item))}" for item in found]
        )


def _changes(changed: Mapping[str, Any] | None, say: Words) -> Iterator[str]:
    """What broke and what was repaired against other results."""
    if changed is None:
        return
    notes = "; ".join(changed["warnings"])
    yield from _section(
        say("changes", name=changed["baseline"]),
        [f"- {say('differ', notes=notes)}"] if notes else (),
    )
    for name, (before, after) in changed["figures"].items():
        moved = say.change(name, after - before, "+")
        yield f"- {say.measure(name)}: {say.number(name, before)} → {say.number(name, after)} ({moved})"
    yield f"- {say('both_fail', n=changed['both_fail'])}"
    if changed["not_compared"]:
        yield f"- {say('not_compared', names=', '.join(changed['not_compared']))}"
    if changed["variants"]:
        yield f"- {say('variants_changed', **changed['variants'])}"
    for kind, entries in (("broke", changed["broke"]), ("repaired", changed["repaired"])):
        yield from ("", f"### {say(kind)}: {len(entries)}", *([""] if entries else []))
        for before, after in entries:
            told = before if kind == "repaired" else after
            yield f"- **{after['id']}** [{'MUST' if after['must'] else 'SHOULD'}] {inline(after['query'])}"
            yield f"  - {say('was' if kind == 'repaired' else 'why')}: {say.failure(told)}"
            if after.get("expected_any"):
                yield f"  - {say('stood')}: {stood_text(before, say)} → {stood_text(after, say)}"


def _measures(results: Mapping[str, Any], say: Words) -> Iterator[str]:
    figures = results["overall"]
    intervals = results.get("intervals", {}).get("overall", {})
    n = results.get("n", {}).get("overall", {})
    delta = results.get("baseline", {}).get("delta", {})
    rows = []
    for name in MEASURES:
        if figures.get(name) is not None and name not in COUNTS:
            row = [
                say.measure(name),
                say.number(name, figures[name]),
                _bounds(name, intervals.get(name), say),
            ]
            row += [say.change(name, delta.get(name), "+")] if delta else []
            rows.append([*row, n.get(name, "")])
    head = [say("measure"), say("value"), say("interval"), *([say("delta")] if delta else []), "n"]
    yield from _section(say("measures"), _table(head, rows))


def _bounds(name: str, bounds: Sequence[float | None] | None, say: Words) -> str:
    if not bounds or bounds[0] is None or bounds[1] is None:
        return ""
    return f"{say.number(name, bounds[0])} – {say.number(name, bounds[1])}"


def _slice(results: Mapping[str, Any], kind: str, say: Words) -> Iterator[str]:
    if not results.get(kind):
        return
    intervals = results.get("intervals", {}).get(kind, {})
    rows = []
    for name, figures in results[kind].items():
        bounds = intervals.get(name, {}).get("pass_rate_total")
        rate = say.number("pass_rate_total", figures["pass_rate_total"])
        must = say.number("pass_rate_must", figures.get("pass_rate_must"))
        mrr = say.number("mrr_at_k", figures.get("mrr_at_k"))
        rows.append(
            [name, figures["total"], rate, _bounds("pass_rate_total", bounds, say), must, mrr]
        )
    head = [say("name"), "n", say("rate"), say("interval"), "MUST", "MRR@k"]
    yield from _section(say(kind), _table(head, rows))


def _gates(gates: Sequence[Mapping[str, Any]], say: Words) -> Iterator[str]:
    if not gates:
        return
    rows = []
    for gate in gates:
        value = say.number(gate["measure"], gate["value"])
        rows.append(
            [
                _gate_name(gate, say),
                _gate_measure(gate, say),
                value,
                say.limit(gate),
                say(gate["status"]),
            ]
        )
    head = [say("gate"), say("measure"), say("value"), say("limit"), say("status")]
    yield from _section(say("gates"), _table(head, rows))


def _gate_name(gate: Mapping[str, Any], say: Words) -> str:
    """The name it was given; a gate without one is called by its measure."""
    name = str(gate["name"])
    if name == "calls":
        return say("calls")
    return _gate_measure(gate, say) if name.startswith(gate["measure"]) else name


def _gate_measure(gate: Mapping[str, Any], say: Words) -> str:
    kind, _, name = str(gate.get("slice") or "").partition(":")
    title = say(kind) if kind in WORDS else kind
    return say.measure(gate["measure"]) + (f" ({title}: {name})" if kind else "")


def _robustness(robustness: Mapping[str, Any], say: Words) -> Iterator[str]:
    named = [(say.perturbation(name), row) for name, row in robustness["by_perturbation"].items()]
    rows = [
        [
            name,
            part["n"],
            say.number("rate", part["pass_rate"]),
            _bounds("rate", (part["low"], part["high"]), say),
            say.number("rate", part["parent_pass_rate"]),
            say.change("rate", part["drop"]),
        ]
        for name, part in [*named, (say("every"), robustness["overall"])]
    ]
    head = [say("perturbation"), "n", say("rate"), say("interval"), say("parent"), say("drop")]
    yield from _section(say("robustness"), _table(head, rows))
    families, broken = robustness["by_family"], robustness["broken_by_parent"]
    worst = [
        f"{say.perturbation(name)} {say.change('rate', families[name]['drop'])}"
        for name in robustness["worst_families"]
    ]
    fragile = [f"{name} ({broken[name]})" for name in robustness["worst_parents"]]
    for key, names in (("worst", worst), ("fragile", fragile)):
        if names:
            yield ""
            yield say(
                key, names=", ".join(names).removesuffix(".")
            )  # '%-yks.' ends the sentence too


def _failures(results: Mapping[str, Any], say: Words) -> Iterator[str]:
    failed = failed_entries(results)
    yield from _section(f"{say('failures')}: {len(failed)}", () if failed else [say("no_failures")])
    for entry in failed:
        yield f"- **{entry['id']}** [{'MUST' if entry['must'] else 'SHOULD'}] {inline(entry['query'])}"
        yield f"  - {say('why')}: {say.failure(entry)}"
        yield f"  - {say('expected')}: {expected_text(entry, say)}"
        yield f"  - {say('instead')}: {hit_text(entry['hits'][0], say) if entry['hits'] else say('nothing')}"
        if entry.get("expected_any"):
            yield f"  - {say('stood')}: {stood_text(entry, say)}"
    if broken := failed_entries(results, variants=True):
        yield from _section(f"{say('failed_variants')}: {len(broken)}", ())
        for entry in broken:
            yield f"- **{entry['id']}** {inline(entry['query'])}: {say.failure(entry)}"


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from lines


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(inline(cell).replace('|', chr(92) + '|') for cell in row)} |"
