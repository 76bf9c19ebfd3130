"""The golden suite's report as Markdown, in English or Finnish, from a results object: a saved file gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.errors import UsageError

LANGUAGES = ("en", "fi")

# key: (English, Finnish)
WORDS: dict[str, tuple[str, str]] = {
    "title": ("Golden set report", "Kultaisen kysymyssarjan raportti"),
    "verdict_pass": ("All gates pass", "Kaikki portit läpäisty"),
    "verdict_fail": ("Gates failed: {names}", "Portteja ei läpäisty: {names}"),
    "engine": ("Engine", "Hakukone"),
    "set": ("Set", "Kysymyssarja"),
    "time": ("Time", "Aika"),
    "questions": ("Questions", "Kysymyksiä"),
    "passed": ("passed", "läpäisi"),
    "measures": ("Measures", "Mittarit"),
    "measure": ("Measure", "Mittari"),
    "value": ("Value", "Arvo"),
    "interval": ("95% interval", "95 %:n luottamusväli"),
    "by_category": ("Pass rate by category", "Läpäisy kategorioittain"),
    "by_test_type": ("Pass rate by test type", "Läpäisy testityypeittäin"),
    "by_language": ("Pass rate by language", "Läpäisy kielittäin"),
    "by_perturbation": ("Pass rate by perturbation", "Läpäisy muunnelmittain"),
    "name": ("Name", "Nimi"),
    "rate": ("Pass rate", "Läpäisy"),
    "gates": ("Gates", "Laatuportit"),
    "gate": ("Gate", "Portti"),
    "limit": ("Limit", "Raja"),
    "status": ("Status", "Tulos"),
    "pass": ("pass", "läpi"),
    "fail": ("FAIL", "EI LÄPI"),
    "skipped": ("not measured", "ei mitattu"),
    "failures": ("Failures (MUST first)", "FAIL-lista (MUST ensin)"),
    "no_failures": ("None: every question passed.", "Ei yhtään: kaikki kysymykset läpäisivät."),
    "why": ("Why", "Syy"),
    "expected": ("Expected", "Odotettiin"),
    "instead": ("Came first", "Ensimmäisenä tuli"),
    "stood": ("The expected one stood at", "Odotettu oli"),
    "not_returned": ("not among the hits", "ei osumien joukossa"),
    "rank": ("rank", "sija"),
    "score": ("score", "pisteet"),
    "page": ("p.", "s."),
    "nothing": ("nothing", "ei mitään"),
    "abstain": ("no answer", "ei vastausta"),
    "not": ("not", "ei"),
    "robustness": ("Robustness", "Häiriönkesto"),
    "perturbation": ("Perturbation", "Muunnelma"),
    "parent": ("Parents' rate", "Alkuperäisten läpäisy"),
    "drop": ("Drop", "Pudotus"),
    "worst": ("Worst: {names}.", "Heikoimmat: {names}."),
    "fragile": ("Questions that break most often: {names}.", "Herkimmin rikkoutuvat kysymykset: {names}."),
}

MEASURES: dict[str, tuple[str, str]] = {
    "pass_rate_total": ("PASS rate (TOTAL)", "PASS-osuus (TOTAL)"),
    "pass_rate_must": ("PASS rate (MUST)", "PASS-osuus (MUST)"),
    "pass_rate_should": ("PASS rate (SHOULD)", "PASS-osuus (SHOULD)"),
    "mrr_at_k": ("MRR@k", "MRR@k"),
    "recall_at_k": ("Recall@k", "Recall@k"),
    "top1_rate": ("Expected hit on top", "Odotettu osuma ensimmäisenä"),
    "near_miss_rate": ("Near misses", "Läheltä piti -osuus"),
    "confusion_rate": ("Wrong law on top", "Väärä laki ensimmäisenä"),
    "negative_violation_rate": ("Hard negatives before the expected", "Kielletty osuma ennen odotettua"),
    "negative_in_top_k_rate": ("Hard negatives in the top k", "Kielletty osuma k parhaan joukossa"),
    "correct_abstention_rate": ("Abstained when it should", "Jätti oikein vastaamatta"),
    "false_abstention_rate": ("Abstained when it should not", "Jätti väärin vastaamatta"),
    "wrong_version_rate": ("Right section, wrong version", "Oikea pykälä, väärä versio"),
    "avg_top1_score": ("Top score, average", "Kärkiosuman pisteet, keskiarvo"),
    "min_top1_score": ("Top score, lowest", "Kärkiosuman pisteet, pienin"),
    "median_top1_score": ("Top score, median", "Kärkiosuman pisteet, mediaani"),
    "p90_top1_score": ("Top score, p90", "Kärkiosuman pisteet, p90"),
    "max_top1_score": ("Top score, highest", "Kärkiosuman pisteet, suurin"),
    "avg_latency_ms": ("Latency, average", "Latenssi, keskiarvo"),
    "p50_latency_ms": ("Latency, p50", "Latenssi, p50"),
    "p95_latency_ms": ("Latency, p95", "Latenssi, p95"),
}

FINNISH_FAILURES = {
    "error": "haku epäonnistui",
    "missing": "ajossa ei ole vastausta tähän kysymykseen",
    "nothing_expected": "kysymykselle ei ole odotettu mitään",
    "answered": "olisi pitänyt jättää vastaamatta",
    "hard_negative": "kielletty osuma tuli ennen odotettua",
    "confusion": "väärä laki on ensimmäisenä",
    "wrong_version": "oikea pykälä, mutta versio ei ollut voimassa kysyttynä päivänä",
    "low_score": "odotettu osuma löytyi, mutta sen pisteet jäävät alle rajan",
    "evidence": "odotetun osuman tekstistä puuttuu vaadittu termi",
    "near_miss": "läheltä piti: väärä momentti tai viereinen pykälä on ensimmäisenä",
    "below_k": "odotettu osuma on vasta k parhaan jälkeen",
    "empty": "haku ei palauttanut mitään",
    "not_found": "odotettu osuma ei ole k parhaan joukossa",
}


def markdown(
    results: Mapping[str, Any],
    *,
    language: str = "en",
    gates: Sequence[Mapping[str, Any]] | None = None,
    robustness: Mapping[str, Any] | None = None,
) -> str:
    """The whole report. `gates` and `robustness` are those in the results unless given."""
    if language not in LANGUAGES:
        raise UsageError(f"unknown report language {language!r}", hint=f"Known: {', '.join(LANGUAGES)}.")
    say = _Words(language)
    checks = results.get("gates", ()) if gates is None else gates
    lines = [*_head(results, checks, say), *_measures(results, say), *_gates(checks, say)]
    for kind in ("by_category", "by_test_type", "by_language", "by_perturbation"):
        lines += _slice(results, kind, say)
    if costs := robustness or results.get("robustness"):
        lines += _robustness(costs, say)
    lines += _failures(results, say)
    return "\n".join(lines).rstrip() + "\n"


class _Words:
    """Words and numbers in one language."""

    def __init__(self, language: str) -> None:
        self.column = LANGUAGES.index(language)

    def __call__(self, key: str, **facts: Any) -> str:
        return WORDS[key][self.column].format(**facts)

    def measure(self, name: str) -> str:
        return MEASURES[name][self.column] if name in MEASURES else name

    def number(self, name: str, value: float | None) -> str:
        if value is None:
            return "–"
        if "rate" in name or name == "drop":
            text, unit = f"{100 * value:.1f}", " %" if self.column else "%"
        elif "latency" in name:
            text, unit = f"{value:.1f}", " ms"
        else:
            text, unit = f"{value:.3f}", ""
        return (text.replace(".", ",") if self.column else text) + unit

    def failure(self, entry: Mapping[str, Any]) -> str:
        """The reason in the results is English; in Finnish the kind of failure says it."""
        if not self.column:
            return str(entry.get("reason", ""))
        text = FINNISH_FAILURES.get(str(entry.get("failure", "")), str(entry.get("reason", "")))
        return f"{text}: {entry['error']}" if entry.get("error") else text


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _head(results: Mapping[str, Any], gates: Sequence[Mapping[str, Any]], say: _Words) -> Iterator[str]:
    entries = results["per_query"]
    yield f"# {say('title')}"
    yield ""
    if gates:
        failing = ", ".join(str(gate["name"]) for gate in gates if gate["status"] == "fail")
        yield f"**{say('verdict_fail', names=failing) if failing else say('verdict_pass')}**"
        yield ""
    gold = results.get("receipt", {}).get("gold", {}).get("name", "")
    for key, value in (("engine", results.get("engine")), ("set", gold), ("time", results.get("timestamp"))):
        if value:
            yield f"- {say(key)}: {value}"
    yield f"- {say('questions')}: {len(entries)}, {sum(entry['passed'] for entry in entries)} {say('passed')}"


def _measures(results: Mapping[str, Any], say: _Words) -> Iterator[str]:
    figures = results["overall"]
    intervals = results.get("intervals", {}).get("overall", {})
    n = results.get("n", {}).get("overall", {})
    rows = [
        [say.measure(name), say.number(name, figures[name]), _bounds(name, intervals.get(name), say), n.get(name, "")]
        for name in MEASURES
        if figures.get(name) is not None
    ]
    yield from _section(say("measures"), _table([say("measure"), say("value"), say("interval"), "n"], rows))


def _bounds(name: str, bounds: Sequence[float | None] | None, say: _Words) -> str:
    if not bounds or bounds[0] is None:
        return ""
    return f"{say.number(name, bounds[0])} – {say.number(name, bounds[1])}"


def _slice(results: Mapping[str, Any], kind: str, say: _Words) -> Iterator[str]:
    if not results.get(kind):
        return
    intervals = results.get("intervals", {}).get(kind, {})
    rows = []
    for name, figures in results[kind].items():
        bounds = intervals.get(name, {}).get("pass_rate_total")
        rate = say.number("pass_rate_total", figures["pass_rate_total"])
        must = say.number("pass_rate_must", figures.get("pass_rate_must"))
        mrr = say.number("mrr_at_k", figures.get("mrr_at_k"))
        rows.append([name, figures["total"], rate, _bounds("pass_rate_total", bounds, say), must, mrr])
    head = [say("name"), "n", say("rate"), say("interval"), "MUST", "MRR@k"]
    yield from _section(say(kind), _table(head, rows))


def _gates(gates: Sequence[Mapping[str, Any]], say: _Words) -> Iterator[str]:
    if not gates:
        return
    rows = []
    for gate in gates:
        name = say.measure(gate["measure"]) + (f" ({gate['slice']})" if gate.get("slice") else "")
        rows.append(
            [gate["name"], name, say.number(gate["measure"], gate["value"]), gate["limit"], say(gate["status"])]
        )
    head = [say("gate"), say("measure"), say("value"), say("limit"), say("status")]
    yield from _section(say("gates"), _table(head, rows))


def _robustness(robustness: Mapping[str, Any], say: _Words) -> Iterator[str]:
    rows = [
        [name, part["n"], say.number("rate", part["pass_rate"]), say.number("rate", part["parent_pass_rate"]),
         say.number("drop", part["drop"])]
        for name, part in robustness["by_perturbation"].items()
    ]  # fmt: skip
    head = [say("perturbation"), "n", say("rate"), say("parent"), say("drop")]
    yield from _section(say("robustness"), _table(head, rows))
    for key, names in (("worst", robustness["worst_families"]), ("fragile", robustness["worst_parents"])):
        if names:
            yield ""
            yield say(key, names=", ".join(names))


def _failures(results: Mapping[str, Any], say: _Words) -> Iterator[str]:
    failed = [entry for entry in results["per_query"] if not entry["passed"]]
    failed.sort(key=lambda entry: (not entry["must"], entry.get("category") or "", entry["id"]))
    yield from _section(f"{say('failures')}: {len(failed)}", () if failed else [say("no_failures")])
    for entry in failed:
        yield f"- **{entry['id']}** [{'MUST' if entry['must'] else 'SHOULD'}] {_inline(entry['query'])}"
        yield f"  - {say('why')}: {say.failure(entry)}"
        yield f"  - {say('expected')}: {_expected(entry, say)}"
        yield f"  - {say('instead')}: {_hit(entry['hits'][0], say) if entry['hits'] else say('nothing')}"
        if entry.get("expected_any"):
            yield f"  - {say('stood')}: {_stood(entry, say)}"


def _expected(entry: Mapping[str, Any], say: _Words) -> str:
    parts = [_place(place, say) for place in entry.get("expected_any") or ()]
    parts += [f"{say('not')} {_place(place, say)}" for place in entry.get("expected_none") or ()]
    if entry.get("must_abstain"):
        parts.append(say("abstain"))
    return "; ".join(parts) or say("nothing")


def _stood(entry: Mapping[str, Any], say: _Words) -> str:
    if entry.get("expected_rank") is None:
        return say("not_returned")
    score = say.number("score", entry.get("expected_score"))
    return f"{say('rank')} {entry['expected_rank']}, {say('score')} {score}"


def _hit(hit: Mapping[str, Any], say: _Words) -> str:
    title = hit.get("section_title") or hit.get("title") or ""
    place = _place(hit, say)
    name = f"{place} {_inline(title)}" if title and title not in place else place
    return f"{name} ({say('score')} {say.number('score', hit.get('score'))})"


def _place(parts: Mapping[str, Any], say: _Words) -> str:
    """A place as it was written, in the order people cite it."""
    section = parts.get("section_id") or parts.get("section_num") or parts.get("section")
    suffix = parts.get("section_suffix") or ""
    words = [
        parts.get("law")
        or parts.get("law_id")
        or (not section and (parts.get("doc_id") or parts.get("node_id")))
        or "",
        f"{section}{suffix if str(section).isdigit() else ''} §" if section else "",
        f"{parts['moment']} mom." if parts.get("moment") else "",
        f"{say('page')} {parts['page']}" if parts.get("page") else "",
        str(parts.get("table") or parts.get("table_id") or ""),
        str(parts.get("row") or ""),
    ]
    return _inline(" ".join(str(word) for word in words if word)) or "?"


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from lines


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(_inline(cell).replace('|', chr(92) + '|') for cell in row)} |"


def _inline(text: Any) -> str:
    """One line of text, whatever the question or the title holds."""
    return " ".join(str(text).split())
