"""Measure the check of answers against answers whose faults are marked.

    python benchmarks/answers.py --answers FOLDER --corpus fi=NAME --corpus he=NAME --corpus en=NAME

FOLDER has `LANGUAGE/answers.jsonl` and `LANGUAGE/gold.jsonl` (offsets, statuses, planted faults).
Printed by language: citations found, by exact offsets; each status; quotations; planted faults
found; false alarms in right answers. `--half 1` or `2` takes every answer of one half, so that
rules are written on one and tried on the other. `--uk FILE` counts years read as regulations."""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from time import perf_counter

from assay.answers.check import check_answer
from assay.answers.readers import answer_of
from assay.answers.sources import Sources
from assay.core.results import AnswerEntry
from assay.corpus.lookup import corpus_named


def say(*parts: object, end: str = "\n") -> None:
    sys.stdout.write(" ".join(map(str, parts)) + end)


EXISTS = {True: "found", False: "not_found", "outside": "outside"}
FAULT_OF = {
    "nonexistent": ("exists", {"not_found"}),
    "marker_nonexistent": ("exists", {"not_found"}),
    "marker_out_of_range": ("exists", {"not_found"}),
    "wrong_name": ("name", {"differs"}),
    "bad_pinpoint": ("pinpoint", {"missing"}),
    "not_retrieved": ("retrieved", {"neither", "question"}),
    "not_in_force": ("in_force", {"no_longer", "not_yet"}),
    "marker_not_in_force": ("in_force", {"no_longer", "not_yet"}),
}


def overlaps(one: dict | object, other: dict) -> bool:
    return one.start < other["end"] and other["start"] < one.end


def tally(counts: Counter, entry: AnswerEntry, gold: dict, show: list[str]) -> None:
    marked = gold["citations"]
    by_place = {(one.start, one.end): one for one in entry.citations}
    counts["citations marked"] += len(marked)
    counts["citations read"] += len(entry.citations)
    wanted = {(one["start"], one["end"]) for one in marked}
    for one in entry.citations:
        counts["read and marked"] += (one.start, one.end) in wanted
        if any(overlaps(one, other) for other in marked):
            counts["read, overlapping"] += 1
        else:
            show.append(f"{gold['id']} EXTRA {one.text!r} {one.exists}")
    for one in marked:
        found = by_place.get((one["start"], one["end"]))
        if found is None:
            near = [other.text for other in entry.citations if overlaps(other, one)]
            show.append(f"{gold['id']} MISSED {one['text']!r} near {near}")
            found = next((other for other in entry.citations if overlaps(other, one)), None)
        if found is None:
            continue
        counts["marked, overlapping"] += 1
        expected = {
            "exists": EXISTS[one["exists"]],
            "name": {True: "agrees", False: "differs", None: "not_given"}[one["name_ok"]],
            "pinpoint": {True: "exists", False: "missing", None: "not_given"}[one["pinpoint_ok"]],
            "retrieved": "retrieved" if one["retrieved"] else "neither",
            "in_force": {True: "in_force", False: "no", None: "unknown"}[one["in_force"]],
        }
        faults = {fault["kind"] for fault in gold["faults"] if fault["text"] == one["text"]}
        if "wrong_pinpoint" in faults:
            expected["pinpoint"] = found.pinpoint
        for key, value in expected.items():
            got = getattr(found, key)
            if key == "retrieved" and got == "question":
                got = "neither"
            if key == "in_force" and got in ("not_yet", "no_longer"):
                got = "no"
            counts[f"{key} asked"] += 1
            counts[f"{key} right"] += got == value
            if got != value:
                show.append(f"{gold['id']} {key} {one['text']!r}: {got}, marked {value}")
        if one["exists"] is True and found.exists == "not_found":
            counts["real called not found"] += 1


def tally_quotes(counts: Counter, entry: AnswerEntry, gold: dict, show: list[str]) -> None:
    for one in gold["quotes"]:
        found = next(
            (o for o in entry.quotes if (o.start, o.end) == (one["start"], one["end"])), None
        )
        expected = one["status"] if len(one["text"].split()) >= 5 else "too_short"
        counts["quotes asked"] += 1
        if found is None:
            show.append(f"{gold['id']} QUOTE MISSED {one['text'][:60]!r}")
            continue
        counts["quotes right"] += found.status == expected
        if found.status != expected:
            show.append(
                f"{gold['id']} QUOTE {one['text'][:60]!r}: {found.status} {found.source} "
                f"{found.diff[:160]!r}, marked {expected} {one.get('source')}"
            )
        counts["verbatim called altered"] += (
            one["status"] == "verbatim" and found.status == "altered"
        )
    for found in entry.quotes:
        if found.status != "too_short" and not any(overlaps(found, o) for o in gold["quotes"]):
            show.append(f"{gold['id']} QUOTE EXTRA {found.text[:60]!r} {found.status}")


def tally_faults(counts: Counter, entry: AnswerEntry, gold: dict, show: list[str]) -> None:
    places = {
        one["text"]: one for one in (*gold["citations"], *gold["quotes"], *gold["numbers_wrong"])
    }
    for fault in gold["faults"]:
        kind = fault["kind"]
        if kind == "wrong_pinpoint":
            continue
        at = places.get(fault["text"])
        if at is None:
            found = False
        elif kind in FAULT_OF:
            key, values = FAULT_OF[kind]
            found = any(overlaps(o, at) and getattr(o, key) in values for o in entry.citations)
        elif kind == "number_wrong":
            found = any(overlaps(o, at) and o.status == "unsupported" for o in entry.figures)
        else:
            short = len(at["text"].split()) < 5
            wrong = ("altered", "other_source", "nowhere")
            found = any(overlaps(o, at) and o.status in wrong for o in entry.quotes)
            if short:
                counts["faults in quotations under five words"] += 1
                continue
        counts["faults planted"] += 1
        counts["faults found"] += found
        counts[f"fault {kind} planted"] += 1
        counts[f"fault {kind} found"] += found
        if not found:
            show.append(f"{gold['id']} FAULT {kind} {fault['text'][:70]!r} not found")


def alarms(entry: AnswerEntry) -> list[str]:
    said = [
        f"{key} {one.text!r} {getattr(one, key)}"
        for one in entry.citations
        for key, values in (
            ("exists", {"not_found", "unreadable"}),
            ("name", {"differs"}),
            ("pinpoint", {"missing"}),
            ("in_force", {"no_longer", "not_yet"}),
        )
        if getattr(one, key) in values
    ]
    said += [
        f"quote {one.text[:50]!r} {one.status}"
        for one in entry.quotes
        if one.status in ("altered", "other_source", "nowhere")
    ]
    return said + [f"figure {one.text!r}" for one in entry.figures if one.status == "unsupported"]


def ratio(counts: Counter, part: str, whole: str) -> str:
    return (
        f"{counts[part] / counts[whole]:.3f} ({counts[part]}/{counts[whole]})"
        if counts[whole]
        else "–"
    )


def uk(path: Path) -> None:
    """Years of instruments read as regulations, and acts named in prose that are found."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    rows = [json.loads(line) for line in content.splitlines()]
    sources = Sources(None)
    named = re.compile(
        r"(?:Act|Regulations|Order|Rules)(?: \([A-Z][A-Za-z ]+\))?,? (?:of )?(?:1[6-9]|20)\d\d\b"
    )
    counts: Counter = Counter()
    for number, row in enumerate(rows):
        answer = answer_of(
            {
                "id": str(number),
                "question": row["user_input"],
                "answer": row["response"],
                "retrieved": row["retrieved_contexts"],
            }
        )
        entry = check_answer(answer, sources).entry
        for one in entry.citations:
            years = re.fullmatch(r"[Rr]egulations? (?:1[6-9]|20)\d\d\W*", one.text)
            counts["years"] += years is not None
        for match in named.finditer(answer.answer):
            counts["acts"] += 1
            inside = any(
                o.start < match.start() and match.end() <= o.end + 1 for o in entry.citations
            )
            quoted = any(q.start <= match.start() < q.end for q in entry.quotes)
            counts["acts found"] += inside or quoted
        acts = ratio(counts, "acts found", "acts")
    say(f"UK: years read as regulations {counts['years']}; acts found {acts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--corpus", action="append", default=[], metavar="LANGUAGE=NAME")
    parser.add_argument("--half", type=int, choices=(1, 2))
    parser.add_argument("--uk", type=Path)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    seconds: list[float] = []
    for pair in options.corpus:
        language, _, name = pair.partition("=")
        sources = Sources(corpus_named(name))
        folder = options.answers / language
        rows = [json.loads(line) for line in (folder / "answers.jsonl").open(encoding="utf-8")]
        golds = [json.loads(line) for line in (folder / "gold.jsonl").open(encoding="utf-8")]
        half = (len(rows) + 1) // 2
        chosen = {1: slice(0, half), 2: slice(half, None), None: slice(None)}[options.half]
        counts: Counter = Counter()
        show: list[str] = []
        by_kind: dict[str, int] = defaultdict(int)
        for row, gold in list(zip(rows, golds, strict=True))[chosen]:
            began = perf_counter()
            entry = check_answer(answer_of(row), sources).entry
            seconds.append(perf_counter() - began)
            tally(counts, entry, gold, show)
            tally_quotes(counts, entry, gold, show)
            tally_faults(counts, entry, gold, show)
            by_kind[gold["kind"]] += 1
            counts["refusals right"] += entry.refused == (gold["kind"] == "refusal")
            if entry.refused != (gold["kind"] == "refusal"):
                show.append(f"{gold['id']} refused {entry.refused}, marked {gold['kind']}")
            if gold["kind"] != "faulty":
                said = alarms(entry)
                counts["right answers"] += 1
                counts["alarms"] += len(said)
                show += [f"{gold['id']} ALARM {one}" for one in said]
        say(f"\n{language}: {dict(by_kind)}")
        say(
            "  recall   ",
            ratio(counts, "read and marked", "citations marked"),
            "overlapping",
            ratio(counts, "marked, overlapping", "citations marked"),
        )
        say(
            "  precision",
            ratio(counts, "read and marked", "citations read"),
            "overlapping",
            ratio(counts, "read, overlapping", "citations read"),
        )
        for key in ("exists", "name", "retrieved", "in_force", "pinpoint", "quotes"):
            say(f"  {key:9}", ratio(counts, f"{key} right", f"{key} asked"))
        say(
            "  real called not found",
            counts["real called not found"],
            "| verbatim called altered",
            counts["verbatim called altered"],
            "| refusals right",
            counts["refusals right"],
            "of",
            sum(by_kind.values()),
        )
        say(
            "  faults   ",
            ratio(counts, "faults found", "faults planted"),
            "| false alarms per right answer",
            ratio(counts, "alarms", "right answers"),
        )
        if not options.quiet:
            say("\n".join(f"    {line}" for line in show))
    if seconds:
        seconds.sort()
        p50, p95 = (seconds[int(len(seconds) * share)] * 1000 for share in (0.5, 0.95))
        say(f"\nmilliseconds: median {p50:.0f}, p95 {p95:.0f}")
    if options.uk:
        uk(options.uk)


if __name__ == "__main__":
    main()
