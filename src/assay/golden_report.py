"""The golden suite's report as Markdown, in English or Finnish, from a results object: a saved file gives the same."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.errors import UsageError

LANGUAGES = ("en", "fi")

# key: (English, Finnish)
WORDS: dict[str, tuple[str, str]] = {
    "title": ("Golden set report", "Kultaisen kysymyssarjan raportti"),
    "verdict_pass": ("All gates pass", "Kaikki portit läpäisty"),
    "verdict_fail": ("Gates failed: {names}", "Portteja ei läpäisty: {names}"),
    "verdict_none": ("No gate could be measured", "Yhtään porttia ei voitu mitata"),
    "not_measured": ("not measured: {names}", "ei mitattu: {names}"),
    "engine": ("Engine", "Hakukone"),
    "set": ("Set", "Kysymyssarja"),
    "time": ("Time", "Aika"),
    "questions": ("Questions", "Kysymyksiä"),
    "passed": ("passed", "läpäisi"),
    "variants": ("{n} perturbed variants are reported apart", "{n} muunnelmaa raportoidaan erikseen"),
    "findings": ("Expectations to mend", "Korjattavaa odotuksissa"),
    "delta": ("vs baseline", "Muutos vertailuajosta"),
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
    "minimum": ("at least {limit}", "vähintään {limit}"),
    "maximum": ("at most {limit}", "enintään {limit}"),
    "below": ("below {limit}", "alle {limit}"),
    "max_drop": ("down by at most {limit}", "laskee enintään {limit}"),
    "from": (" from {base}", " arvosta {base}"),
    "points": (" points", " %-yks."),
    "category": ("category", "kategoria"),
    "test_type": ("test type", "testityyppi"),
    "language": ("language", "kieli"),
    "calls": ("calls", "kutsut"),
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
    "row": ("row", "rivi"),
    "not_on_top": ("{place} not on top", "{place} ei ensimmäisenä"),
    "no_other_law": ("no other law on top", "mikään muu laki ei ensimmäisenä"),
    "nothing": ("nothing", "ei mitään"),
    "abstain": ("no answer", "ei vastausta"),
    "not": ("not", "ei"),
    "robustness": ("Robustness", "Häiriönkesto"),
    "perturbation": ("Perturbation", "Muunnelma"),
    "parent": ("Parents' rate", "Alkuperäisten läpäisy"),
    "drop": ("Drop", "Pudotus"),
    "every": ("all variants", "kaikki muunnelmat"),
    "worst": ("Worst families: {names}.", "Heikoimmat perheet: {names}."),
    "fragile": (
        "Questions that break most often (variants broken): {names}.",
        "Herkimmin rikkoutuvat kysymykset (rikkoutuneita muunnelmia): {names}.",
    ),
    "failed_variants": ("Failed variants", "Epäonnistuneet muunnelmat"),
}

PERTURBATIONS: dict[str, tuple[str, str]] = {
    "typo": ("typos", "kirjoitusvirheet"),
    "typo-keyboard": ("a neighbouring key", "viereinen näppäin"),
    "typo-transposed": ("two letters swapped", "kirjaimet vaihtuneet"),
    "typo-dropped": ("a letter left out", "kirjain puuttuu"),
    "typo-doubled": ("a letter doubled", "kirjain kahdesti"),
    "typo-umlaut": ("no ä and ö", "ilman ä:tä ja ö:tä"),
    "compound": ("compounds", "yhdyssanat"),
    "compound-split": ("a compound split", "yhdyssana erikseen"),
    "compound-joined": ("two words joined", "sanat yhteen"),
    "mixed": ("mixed language", "sekakieli"),
    "mixed-language": ("terms in another language", "termejä toisella kielellä"),
    "colloquial": ("colloquial wording", "puhekieli"),
    "noise": ("noise", "kohina"),
    "case": ("upper and lower case", "isot ja pienet kirjaimet"),
    "punctuation": ("punctuation", "välimerkit"),
    "hebrew": ("Hebrew writing", "heprean kirjoitusasut"),
    "he-prefix": ("Hebrew prefixes", "heprean etuliitteet"),
    "he-niqqud": ("niqqud", "niqqud-merkit"),
    "he-finals": ("final letters", "heprean loppukirjaimet"),
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
    "n_failed": ("Failed calls", "Epäonnistuneita kutsuja"),
    "total": ("Questions", "Kysymyksiä"),
}

FINNISH_FAILURES = {
    "error": "haku epäonnistui: {error}",
    "missing": "ajossa ei ole vastausta tähän kysymykseen",
    "nothing_expected": "kysymykselle ei ole odotettu mitään",
    "answered": "olisi pitänyt jättää vastaamatta",
    "hard_negative": "kielletty osuma {negative} on sijalla {negative_rank}{before}",
    "confusion": "väärä laki on ensimmäisenä",
    "wrong_version": "oikea kohta on sijalla {rank}, mutta {not_right}",
    "low_score": "odotettu osuma on sijalla {rank}, mutta sen pisteet {score} jäävät alle rajan {min_score}",
    "evidence": "odotettu osuma on sijalla {rank}, mutta sen tekstistä puuttuu vaadittu termi: {terms}",
    "near_miss": "läheltä piti: väärä momentti tai viereinen kohta on ensimmäisenä",
    "below_k": "odotettu osuma on vasta sijalla {rank}, tarkasteltavia osumia on {k}",
    "empty": "haku ei palauttanut mitään",
    "not_found": "odotettu osuma ei ole {k} parhaan joukossa",
}


FINNISH_FINDINGS = {
    "no-such-place": "kohtaa ei ole aineistossa",
    "not-in-force": "kohta ei ollut voimassa {tail}",
    "no-such-evidence": "kohdan tekstissä ei ole vaadittua termiä",
    "unknown-key": "tuntemattomia avaimia, joita ei katsota: {tail}",
    "nothing-expected": "mitään ei odoteta, joten kysymys ei voi läpäistä",
    "contradiction": "odotukset ovat ristiriidassa",
    "no-law": "confusion on tosi, mutta kaikki odotukset eivät nimeä lakia, joten mikään laki ei ole väärä",
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
    lines = [*_head(results, checks, say), *_findings(results, say), *_measures(results, say), *_gates(checks, say)]
    costs = robustness or results.get("robustness")
    kinds = ("by_category", "by_test_type", "by_language", *(() if costs else ("by_perturbation",)))
    for kind in kinds:
        lines += _slice(results, kind, say)
    if costs:
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

    def perturbation(self, name: str) -> str:
        """In words, with the name that the ids of the variants end in."""
        return f"{PERTURBATIONS[name][self.column]} ({name})" if name in PERTURBATIONS else name

    def figure(self, text: str) -> str:
        return text.replace(".", ",") if self.column else text

    def number(self, name: str, value: float | None) -> str:
        if value is None:
            return "–"
        if "rate" in name:
            return self.figure(f"{100 * value:.1f}") + (" %" if self.column else "%")
        if "latency" in name:
            return self.figure(f"{value:.1f}") + " ms"
        return self.figure(f"{value:g}" if name in COUNTS else f"{value:.3f}")

    def change(self, name: str, value: float | None, sign: str = "") -> str:
        """A difference of two values: of rates in points."""
        if value is None:
            return "–"
        if "rate" in name:
            return self.figure(f"{100 * value:{sign}.1f}") + self("points")
        return self.figure(f"{value:{sign}.1f}") + " ms" if "latency" in name else self.figure(f"{value:{sign}.3f}")

    def limit(self, gate: Mapping[str, Any]) -> str:
        kind, measure = gate["kind"], gate["measure"]
        as_text = self.change if kind == "max_drop" else self.number
        base = self("from", base=self.number(measure, gate["baseline"])) if gate.get("baseline") is not None else ""
        return self(kind, limit=as_text(measure, gate["bound"])) + base

    def finding(self, item: Mapping[str, Any]) -> str:
        if not self.column or item["code"] not in FINNISH_FINDINGS:
            return str(item["message"])
        message, words = str(item["message"]), FINNISH_FINDINGS[item["code"]]
        about = message.partition(": ")[0] if message.startswith(("expected_", "confusion[")) else ""
        return (f"{about}: " if about else "") + words.format(tail=message.rpartition(": ")[2])

    def failure(self, entry: Mapping[str, Any]) -> str:
        """The reason in the results is English; in Finnish it is put together from the same facts."""
        kind = str(entry.get("failure", ""))
        if not self.column or kind not in FINNISH_FAILURES:
            return str(entry.get("reason", ""))
        at = entry.get("negative_rank")
        terms = [*_listed(entry.get("evidence"))]
        for place in entry.get("expected_any") or ():
            terms += _listed(place.get("evidence"))
        return (
            FINNISH_FAILURES[kind]
            .format(
                error=entry.get("error"),
                negative=_place(entry["hits"][at - 1], self) if at else "",
                negative_rank=at,
                rank=entry.get("expected_rank"),
                score=self.number("score", entry.get("expected_score")),
                min_score=self.figure(f"{entry['min_score']:g}"),
                before=", ennen odotettua" if entry.get("expected_any") else "",
                not_right=f"sen versio ei ollut voimassa {day}"
                if (day := entry.get("as_of"))
                else "sen versio on väärä",
                terms=", ".join(dict.fromkeys(map(str, terms))),
                k=entry["k"],
            )
            .rstrip()
        )


COUNTS = ("total", "n_failed", "n_variants")
LAW_KEYS = ("law", "law_id", "law_key", "law_name", "law_names", "statute")
DOC_KEYS = ("doc_id", "node_id", "document_id", "opinion_id", "id")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def failed_entries(results: Mapping[str, Any], *, variants: bool = False) -> list[Mapping[str, Any]]:
    """The questions that failed, MUST first, then by category and id; with `variants` the perturbed ones instead."""
    entries = results["per_query"]
    known = {entry["query_id"] for entry in entries}
    failed = [entry for entry in entries if not entry["passed"] and variants == is_variant(entry, known)]
    return sorted(failed, key=lambda entry: (not entry["must"], entry.get("category") or "", entry["query_id"]))


def is_variant(entry: Mapping[str, Any], known: Container[str]) -> bool:
    """A perturbed question beside its parent; on its own it is a question like any."""
    return bool(entry.get("perturbation")) and entry.get("parent") in known


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _head(results: Mapping[str, Any], gates: Sequence[Mapping[str, Any]], say: _Words) -> Iterator[str]:
    entries = results["per_query"]
    yield f"# {say('title')}"
    yield ""
    if gates:
        yield f"**{_verdict(gates, say)}**"
        yield ""
    gold = results.get("receipt", {}).get("gold", {}).get("name", "")
    for key, value in (("engine", results.get("engine")), ("set", gold), ("time", results.get("timestamp"))):
        if value:
            yield f"- {say(key)}: {value}"
    variants = int(results["overall"].get("n_variants") or 0)
    total = len(entries) - variants
    passed = total - len(failed_entries(results))
    yield f"- {say('questions')}: {total}, {passed} {say('passed')}"
    if variants:
        yield f"- {say('variants', n=variants)}"


def _verdict(gates: Sequence[Mapping[str, Any]], say: _Words) -> str:
    names = {
        status: ", ".join(_gate_name(gate, say) for gate in gates if gate["status"] == status)
        for status in ("fail", "pass", "skipped")
    }
    words = (
        say("verdict_fail", names=names["fail"])
        if names["fail"]
        else say("verdict_pass" if names["pass"] else "verdict_none")
    )
    return f"{words} ({say('not_measured', names=names['skipped'])})" if names["skipped"] else words


def _findings(results: Mapping[str, Any], say: _Words) -> Iterator[str]:
    """What was found in the set before the run."""
    found = results.get("receipt", {}).get("findings", ())
    if found:
        yield from _section(say("findings"), [f"- {item['where']}: {_inline(say.finding(item))}" for item in found])


def _measures(results: Mapping[str, Any], say: _Words) -> Iterator[str]:
    figures = results["overall"]
    intervals = results.get("intervals", {}).get("overall", {})
    n = results.get("n", {}).get("overall", {})
    delta = results.get("baseline", {}).get("delta", {})
    rows = []
    for name in MEASURES:
        if figures.get(name) is not None and name not in COUNTS:
            row = [say.measure(name), say.number(name, figures[name]), _bounds(name, intervals.get(name), say)]
            row += [say.change(name, delta.get(name), "+")] if delta else []
            rows.append([*row, n.get(name, "")])
    head = [say("measure"), say("value"), say("interval"), *([say("delta")] if delta else []), "n"]
    yield from _section(say("measures"), _table(head, rows))


def _bounds(name: str, bounds: Sequence[float | None] | None, say: _Words) -> str:
    if not bounds or bounds[0] is None or bounds[1] is None:
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
        value = say.number(gate["measure"], gate["value"])
        rows.append([_gate_name(gate, say), _gate_measure(gate, say), value, say.limit(gate), say(gate["status"])])
    head = [say("gate"), say("measure"), say("value"), say("limit"), say("status")]
    yield from _section(say("gates"), _table(head, rows))


def _gate_name(gate: Mapping[str, Any], say: _Words) -> str:
    """The name it was given; a gate without one is called by its measure."""
    name = str(gate["name"])
    if name == "calls":
        return say("calls")
    return _gate_measure(gate, say) if name.startswith(gate["measure"]) else name


def _gate_measure(gate: Mapping[str, Any], say: _Words) -> str:
    kind, _, name = str(gate.get("slice") or "").partition(":")
    title = say(kind) if kind in WORDS else kind
    return say.measure(gate["measure"]) + (f" ({title}: {name})" if kind else "")


def _robustness(robustness: Mapping[str, Any], say: _Words) -> Iterator[str]:
    named = [(say.perturbation(name), row) for name, row in robustness["by_perturbation"].items()]
    rows = [
        [name, part["n"], say.number("rate", part["pass_rate"]), _bounds("rate", (part["low"], part["high"]), say),
         say.number("rate", part["parent_pass_rate"]), say.change("rate", part["drop"])]
        for name, part in [*named, (say("every"), robustness["overall"])]
    ]  # fmt: skip
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
            yield say(key, names=", ".join(names).removesuffix("."))  # '%-yks.' ends the sentence too


def _failures(results: Mapping[str, Any], say: _Words) -> Iterator[str]:
    failed = failed_entries(results)
    yield from _section(f"{say('failures')}: {len(failed)}", () if failed else [say("no_failures")])
    for entry in failed:
        yield f"- **{entry['id']}** [{'MUST' if entry['must'] else 'SHOULD'}] {_inline(entry['query'])}"
        yield f"  - {say('why')}: {say.failure(entry)}"
        yield f"  - {say('expected')}: {_expected(entry, say)}"
        yield f"  - {say('instead')}: {_hit(entry['hits'][0], say) if entry['hits'] else say('nothing')}"
        if entry.get("expected_any"):
            yield f"  - {say('stood')}: {_stood(entry, say)}"
    if broken := failed_entries(results, variants=True):
        yield from _section(f"{say('failed_variants')}: {len(broken)}", ())
        for entry in broken:
            yield f"- **{entry['id']}** {_inline(entry['query'])}: {say.failure(entry)}"


def _expected(entry: Mapping[str, Any], say: _Words) -> str:
    parts = [_place(place, say) for place in entry.get("expected_any") or ()]
    parts += [f"{say('not')} {_place(place, say)}" for place in entry.get("expected_none") or ()]
    traps = _listed(entry.get("confusion"))
    laws = [trap if isinstance(trap, Mapping) else {"law": trap} for trap in traps if trap is not True]
    parts += [say("not_on_top", place=_place(law, say)) for law in laws]
    parts += [say("no_other_law")] if True in traps else []
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
    place = _place(
        {key: value for key, value in hit.items() if key not in ("chapter", "version", "finlex_version")}, say
    )
    if place.casefold() in _inline(title).casefold():
        place = ""  # the title of a hit may cite the place itself
    name = f"{place} {_inline(title)}".strip() if title and title not in place else place
    return f"{name} ({say('score')} {say.number('score', hit.get('score'))})"


def _place(parts: Mapping[str, Any], say: _Words) -> str:
    """A place as it was written, in the order people cite it."""
    section = _part(parts, "section_id", "section_num", "section")
    suffix = parts.get("section_suffix") or ""
    source = _part(parts, *LAW_KEYS) or ("" if section else _part(parts, *DOC_KEYS))
    words = [
        source,
        _about(parts, "chapter", "{} luku"),
        f"{section}{suffix if section.isdigit() else ''}{'' if '§' in section else ' §'}" if section else "",
        _about(parts, "moment", "{}" if "mom" in str(parts.get("moment")).casefold() else "{} mom."),
        _about(parts, "page", say("page") + " {}"),
        _part(parts, "table", "table_id"),
        _about(parts, "row", say("row") + " {}"),
        f"({version})" if (version := _part(parts, "version", "finlex_version")) else "",
    ]
    return _inline(" ".join(word for word in words if word)) or "?"


def _part(parts: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is stated; 0 is something stated."""
    stated = (parts.get(key) for key in keys)
    value = next((value for value in stated if value not in (None, "", [])), "")
    return str(value[0] if isinstance(value, list | tuple) else value)


def _about(parts: Mapping[str, Any], key: str, words: str) -> str:
    return words.format(value) if (value := _part(parts, key)) else ""


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
