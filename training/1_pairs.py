"""Step 1: query-like texts made from opinions, and for each the opinions to compare it with.

    python 1_pairs.py --opinions OPINIONS --judged dataset-dev.json judgments-dev-pooled.jsonl --out
    RUN

Writes RUN/texts.json (ids, queries, the texts of every opinion) and RUN/pairs.npz. No judgment is
read for its grade: the files under --judged say only which opinions to leave out."""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from opinions import Opinion, clean, document_parts, held_out, read_judged, read_opinions, terms
from similarity import Bm25, Counts, Floats, citation_links, citation_matrix, count_terms, idf

CANDIDATES = 48  # by similarity to the source opinion, and again as many by BM25 of the query text
MIN_QUALITY = 0.5
SEED = 7
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_SENTENCE_END = re.compile(r'(?<=[.?!])\s+(?=[A-Z"“])')
_NUMBERING = re.compile(r"^\s*(\d+\.|QUESTION:?)\s*")
_EMPTY_WORDS = ("act", "section", "mr", "ms", "commission")
log = logging.getLogger("pairs")


class QueryMaker:
    """The three kinds of query: 0 a question, 1 a few sentences of facts, 2 keywords with a
    section."""

    def __init__(self, counts: Counts, seed: int = SEED) -> None:
        self._random = random.Random(seed)
        n = counts.matrix.shape[0]
        weights = idf(counts.frequency, n)
        self._idf = {term: float(weights[column]) for term, column in counts.vocabulary.items()}
        self._unseen = float(idf(0, n))
        self.kinds: tuple[Callable[[Opinion], str], ...] = (
            self.question,
            self.facts,
            self.keywords,
        )

    def question(self, opinion: Opinion) -> str:
        synthetic = opinion.question_synthetic
        take = synthetic and (not opinion.question or self._random.random() < 0.7)
        text = _NUMBERING.sub("", clean(synthetic if take else opinion.question))
        return " ".join((_sentences(text) or [text])[:2])[:450] if len(text) > 30 else ""

    def facts(self, opinion: Opinion) -> str:
        text = opinion.facts
        if not text:
            # a letter without a facts section: its first page after the salutation
            start = opinion.full.find("Dear")
            text = opinion.full[start + 40 : start + 2500] if start >= 0 else ""
        sentences = _sentences(text)
        if len(sentences) < 2:
            return ""
        n = self._random.randint(2, 5)
        at = self._random.randint(0, max(0, min(len(sentences) - n, 6)))
        return " ".join(sentences[at : at + n])[:700]

    def keywords(self, opinion: Opinion) -> str:
        concluded = opinion.conclusion or opinion.conclusion_synthetic
        words = self._telling_words(
            clean(f"{opinion.question_synthetic} {opinion.question[:500]} {concluded[:500]}")
        )
        if len(words) < 4:
            return ""
        n = self._random.randint(4, 7)
        top = sorted((word for word in words if 1.0 < word[0] < 7.5), reverse=True)[:12]
        self._random.shuffle(top)
        chosen = [word.lower() for _, _, word in sorted(top[:n], key=lambda ranked: ranked[1])]
        cited = opinion.sections + opinion.regulations
        if cited and self._random.random() < 0.7:
            name = self._random.choice(cited)
            kind = "Regulation " if name.startswith("18") else "Government Code "
            name = self._random.choice(["Section ", "", "", kind]) + name
            chosen.insert(0 if self._random.random() < 0.7 else len(chosen), name)
        return " ".join(chosen)

    def _telling_words(self, text: str) -> list[tuple[float, int, str]]:
        """(idf, place, word), each stem once."""
        words: list[tuple[float, int, str]] = []
        seen: set[str] = set()
        for word in _WORD.findall(text):
            stems = terms(word)
            if stems and stems[0] not in seen and word.lower() not in _EMPTY_WORDS:
                seen.add(stems[0])
                words.append((self._idf.get(stems[0], self._unseen), len(words), word))
        return words


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(clean(text)) if len(sentence) > 25]


def make_pairs(
    opinions: Sequence[Opinion], out_of_bounds: list[bool]
) -> tuple[list[str], dict[str, np.ndarray]]:
    counts = count_terms(opinions)
    bm25, cited, links = Bm25(counts), citation_matrix(opinions), citation_links(opinions)
    maker, excluded = QueryMaker(counts), np.array(out_of_bounds)
    texts, sources, kinds, candidates, grades = [], [], [], [], []
    for row, opinion in enumerate(opinions):
        if excluded[row] or opinion.quality < MIN_QUALITY:
            continue
        alike = bm25.like(row) + 0.3 * (cited[row] @ cited.T).toarray().ravel()
        alike[list(links[row])] += 0.25
        near = _best(alike, excluded, row)
        for kind, make in enumerate(maker.kinds):
            if text := make(opinion):
                rows = np.union1d(near, _best(bm25.text(text), excluded, row))
                texts.append(text)
                sources.append(row)
                kinds.append(kind)
                candidates.append(rows.astype(np.int32))
                grades.append(alike[rows].astype(np.float32))
        if row % 2000 == 0:
            log.info("%d opinions, %d queries", row, len(texts))
    starts = np.cumsum([0, *(len(rows) for rows in candidates)])
    arrays = {"doc": np.array(sources, np.int32), "kind": np.array(kinds, np.int8), "start": starts}
    return texts, arrays | {
        "cand": np.concatenate(candidates),
        "alike": np.concatenate(grades),
        "excluded": excluded,
    }


def _best(scores: Floats, excluded: np.ndarray, row: int) -> np.ndarray:
    """The 48 best opinions; held-out ones and the source itself are never candidates."""
    scores[excluded] = -1
    scores[row] = -1
    allowed = int((~excluded).sum()) - 1
    return np.argpartition(-scores, CANDIDATES)[: min(CANDIDATES, allowed)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--opinions", type=Path, required=True, help="folder with YEAR/NAME.json")
    parser.add_argument(
        "--judged",
        type=Path,
        nargs="+",
        required=True,
        help="gold sets whose opinions are held out",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of this training run")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    opinions = read_opinions(args.opinions)
    excluded = held_out(opinions, read_judged(args.judged))
    log.info("%d opinions, %d held out", len(opinions), sum(excluded))
    texts, arrays = make_pairs(opinions, excluded)
    args.out.mkdir(parents=True, exist_ok=True)
    stored = {
        "ids": [o.id for o in opinions],
        "queries": texts,
        "parts": [document_parts(o) for o in opinions],
    }
    (args.out / "texts.json").write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
    np.savez_compressed(args.out / "pairs.npz", **arrays)
    log.info("%d queries from %d opinions", len(texts), len(set(arrays["doc"].tolist())))


if __name__ == "__main__":
    main()
