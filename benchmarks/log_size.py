"""Open a long log and vote on its set.

    python benchmarks/log_size.py [--lines 1000000] [--folder FOLDER]

Makes a graded set of 1,000 queries and a log of so many lines in a temporary folder (or in FOLDER,
where it stays for the next time): votes of four judges with rationales of about 80 characters, many
of them superseding an earlier one. Then opens the set, gives 20 votes, and prints the seconds of
opening, the memory and the milliseconds of one vote. Exits with 1 above 10 s, 600 MB or 50 ms for
1,000,000 lines."""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.core.types import Vote
from assay.workbench.judging.session import open_session, write_vote

JUDGES, QUERIES, VOTES = 4, 1000, 20
LIMITS = {"opening_s": 10.0, "memory_mb": 600.0, "vote_ms": 50.0}
WHY = "It decides the same duty under the rule that the query asks about, in other facts."
START = datetime(2026, 1, 1, tzinfo=UTC)


def make(folder: Path, lines: int) -> Path:
    """Write the set and its log, unless they are there."""
    dataset, log = folder / "big.json", folder / "big.log.jsonl"
    if log.exists():
        return dataset
    queries = [{"id": f"q{n:04}", "text": f"query {n}"} for n in range(QUERIES)]
    dataset.write_text(json.dumps({"rubric": "fppc-relevance-2", "queries": queries}))
    people = [f'p-{n:08x} = "Judge {n}"\n' for n in range(JUDGES)]
    (folder / "people.toml").write_text("".join(people))
    dice, last = random.Random(1), dict[tuple[int, int], str]()
    begun = {"v": 1, "id": "b" * 24, "at": START.isoformat(), "who": "file", "kind": "human"}
    with log.open("w") as stream:
        stream.write(_line(begun | {"action": "begin", "subject": {"set": dataset.name}}))
        for n in range(lines - 1):
            pair, judge, id = (
                dice.randrange(max(lines // 3, 1)),
                dice.randrange(JUDGES),
                f"{n:024x}",
            )
            vote = {
                "v": 1,
                "id": id,
                "at": (START + timedelta(seconds=n)).isoformat(timespec="milliseconds"),
                "who": f"p-{judge:08x}",
                "kind": "human",
                "action": "vote",
                "subject": {"query": f"q{pair % QUERIES:04}", "doc": f"d{pair // QUERIES}"},
                "grade": dice.randrange(3),
                "rationale": WHY,
                "rubric": "fppc-relevance-2@ade1252506db",
                "document": f"{pair:016x}",
                "seconds": 12.5,
            }
            if (pair, judge) in last:
                vote["supersedes"] = [last[pair, judge]]
            last[pair, judge] = id
            stream.write(_line(vote))
    return dataset


def _line(act: dict[str, object]) -> str:
    return json.dumps(act, separators=(",", ":")) + "\n"


def measure(dataset: Path) -> dict[str, float]:
    began = time.perf_counter()
    session = open_session(dataset)
    opening = time.perf_counter() - began
    times = []
    for n in range(VOTES):
        vote = Vote(id=f"new-{time.time_ns()}", query_id="q0001", doc_id="d1", grade=n % 3,
                    judge="Judge 1", kind="human", at=datetime.now(UTC).isoformat(),
                    rationale=WHY)  # fmt: skip
        began = time.perf_counter()
        write_vote(open_session(dataset), vote)
        times.append((time.perf_counter() - began) * 1000)
    return {
        "lines": len(session.votes.ids) + 1,
        "opening_s": round(opening, 2),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "vote_ms": round(statistics.median(times), 1),
        "slowest_vote_ms": round(max(times), 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="a folder that stays")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = measure(make(folder, args.lines))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return int(any(found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
