"""The words of the report in English and Finnish, and figures, places and reasons put into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    "variants": (
        "{n} perturbed variants are reported apart",
        "{n} muunnelmaa raportoidaan erikseen",
    ),
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
    "inconclusive": ("not measured", "ei mitattu"),
    "min_queries": ("at least {limit} questions", "vähintään {limit} kysymystä"),
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
    "changes": ("Changes from {name}", "Muutokset: {name}"),
    "differ": (
        "{notes}",
        "Ajot on pisteytetty eri kysymyksillä tai eri aineistolla, tai kysymyksiä puuttuu",
    ),
    "broke": ("Broke (MUST first)", "Rikkoutui (MUST ensin)"),
    "repaired": ("Repaired (MUST first)", "Korjaantui (MUST ensin)"),
    "was": ("It failed because", "Aiempi syy"),
    "both_fail": ("Failing in both: {n}", "Epäonnistui kummassakin: {n}"),
    "not_compared": (
        "Only in one of the two, or not answered: {names}",
        "Vain toisessa tai ilman vastausta: {names}",
    ),
    "variants_changed": (
        "Perturbed variants apart: {broke} broke, {repaired} repaired",
        "Muunnelmat erikseen: {broke} rikkoutui, {repaired} korjaantui",
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
    "negative_violation_rate": (
        "Hard negatives before the expected",
        "Kielletty osuma ennen odotettua",
    ),
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
    "not-in-force": "kohta ei ollut kysymyksen päivänä voimassa",
    "no-such-evidence": "kohdan tekstissä ei ole vaadittua termiä",
    "unknown-key": "tuntemattomia avaimia, joita ei katsota: {tail}",
    "nothing-expected": "mitään ei odoteta, joten kysymys ei voi läpäistä",
    "contradiction": "odotukset ovat ristiriidassa",
    "no-law": "confusion on tosi, mutta kaikki odotukset eivät nimeä lakia, joten mikään laki ei ole väärä",
}

COUNTS = ("total", "n_failed", "n_variants")
LAW_KEYS = ("law", "law_id", "law_key", "law_name", "law_names", "statute")
DOC_KEYS = ("doc_id", "node_id", "document_id", "opinion_id", "id")


class Words:
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
        return (
            self.figure(f"{value:{sign}.1f}") + " ms"
            if "latency" in name
            else self.figure(f"{value:{sign}.3f}")
        )

    def limit(self, gate: Mapping[str, Any]) -> str:
        kind, measure = gate["kind"], gate["measure"]
        if kind == "min_queries":
            return self(kind, limit=f"{gate['bound']:g}")
        as_text = self.change if kind == "max_drop" else self.number
        base = (
            self("from", base=self.number(measure, gate["baseline"]))
            if gate.get("baseline") is not None
            else ""
        )
        return self(kind, limit=as_text(measure, gate["bound"])) + base

    def finding(self, item: Mapping[str, Any]) -> str:
        if not self.column or item["code"] not in FINNISH_FINDINGS:
            return str(item["message"])
        message, words = str(item["message"]), FINNISH_FINDINGS[item["code"]]
        about = (
            message.partition(": ")[0] if message.startswith(("expected_", "confusion[")) else ""
        )
        return (f"{about}: " if about else "") + words.format(tail=message.rpartition(": ")[2])

    def failure(self, entry: Mapping[str, Any]) -> str:
        """The reason in the results is English; in Finnish it is put together from the same
        facts."""
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
                negative=place_text(entry["hits"][at - 1], self) if at else "",
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


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def expected_text(entry: Mapping[str, Any], say: Words) -> str:
    parts = [place_text(place, say) for place in entry.get("expected_any") or ()]
    parts += [
        f"{say('not')} {place_text(place, say)}" for place in entry.get("expected_none") or ()
    ]
    traps = _listed(entry.get("confusion"))
    laws = [
        trap if isinstance(trap, Mapping) else {"law": trap} for trap in traps if trap is not True
    ]
    parts += [say("not_on_top", place=place_text(law, say)) for law in laws]
    parts += [say("no_other_law")] if True in traps else []
    if entry.get("must_abstain"):
        parts.append(say("abstain"))
    return "; ".join(parts) or say("nothing")


def stood_text(entry: Mapping[str, Any], say: Words) -> str:
    if entry.get("expected_rank") is None:
        return say("not_returned")
    score = say.number("score", entry.get("expected_score"))
    return f"{say('rank')} {entry['expected_rank']}, {say('score')} {score}"


def hit_text(hit: Mapping[str, Any], say: Words) -> str:
    title = hit.get("section_title") or hit.get("title") or ""
    place = place_text(
        {
            key: value
            for key, value in hit.items()
            if key not in ("chapter", "version", "finlex_version")
        },
        say,
    )
    if place.casefold() in inline(title).casefold():
        place = ""  # the title of a hit may cite the place itself
    name = f"{place} {inline(title)}".strip() if title and title not in place else place
    return f"{name} ({say('score')} {say.number('score', hit.get('score'))})"


def place_text(parts: Mapping[str, Any], say: Words) -> str:
    """A place as it was written, in the order people cite it."""
    section = _part(parts, "section_id", "section_num", "section")
    suffix = parts.get("section_suffix") or ""
    source = _part(parts, *LAW_KEYS) or ("" if section else _part(parts, *DOC_KEYS))
    words = [
        source,
        _about(parts, "chapter", "{} luku"),
        f"{section}{suffix if section.isdigit() else ''}{' §' if section[-1].isalnum() else ''}"
        if section
        else "",
        _about(
            parts, "moment", "{}" if "mom" in str(parts.get("moment")).casefold() else "{} mom."
        ),
        _about(parts, "page", say("page") + " {}"),
        _part(parts, "table", "table_id"),
        _about(parts, "row", say("row") + " {}"),
        f"({version})" if (version := _part(parts, "version", "finlex_version")) else "",
    ]
    return inline(" ".join(word for word in words if word)) or "?"


def _part(parts: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is stated; 0 is something stated."""
    stated = (parts.get(key) for key in keys)
    value = next((value for value in stated if value not in (None, "", [])), "")
    return str(value[0] if isinstance(value, list | tuple) else value)


def _about(parts: Mapping[str, Any], key: str, words: str) -> str:
    return words.format(value) if (value := _part(parts, key)) else ""


def inline(text: Any) -> str:
    """One line of text, whatever the question or the title holds."""
    return " ".join(str(text).split())
