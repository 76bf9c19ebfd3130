"""The Finnish static encoder: n-gram vectors trained so that a question lies beside the moment that answers it.

    python static_fi.py --vectors VECTORS --acts FINLEX --questions questions-fi --out src/assay/search/weights

VECTORS is the file vocab/vectors of the package spacy-fi-experimental-web-md 0.15 (MIT); FINLEX a folder of acts, one
moment a line. Four kinds of pairs: questions written for moments, section titles, tags, and passages in which terms
were replaced by what the thesaurus has for them. Needs torch; 70 s on one H200, some minutes on a CPU.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from assay.search.analysis import analyzer
from assay.search.static import places
from assay.search.thesaurus import thesaurus

SIZE, HIDDEN = 192, 48
NGRAMS = (4, 5)
BATCH, SCALE = 1024, 20.0
RATE, GATE_RATE = 6e-3, 3e-3
ANCHOR = 0.03  # how much the vectors are held to where they began
WRITTEN = 8.0  # a question written for a moment is drawn this many times as often as another pair
FINNISH = analyzer("fi")
Words = list[int]
log = logging.getLogger("static")


class Pair(NamedTuple):
    words: Words
    moment: int
    written: bool


class Data:
    """Words by number, the moments they make up, and the pairs."""

    def __init__(self, acts: Path, questions: Path, seed: int) -> None:
        self._random, self._numbers = random.Random(seed), {}
        rows = [json.loads(line) for path in sorted(acts.glob("*.jsonl")) for line in path.open(encoding="utf-8")]
        titles = [str(row.get("section_title") or "") for row in rows]
        section = {}
        self.section = np.array(
            [section.setdefault((row["law_id"], row.get("chapter"), row["section_id"]), len(section)) for row in rows]
        )
        self.moments = [self._of(f"{title} {row['text']}") for title, row in zip(titles, rows, strict=True)]
        self.pairs = [Pair(self._of(title), number, False) for number, title in enumerate(titles)]
        self.pairs += [Pair(self._of(" ".join(r.get("tags") or [])), n, False) for n, r in enumerate(rows)]
        self._variants = self._by_term()
        for number, (title, row) in enumerate(zip(titles, rows, strict=True)):
            self.pairs += [Pair(self._reworded(row["text"]), number, False) for _ in range(3)]
            self.pairs.append(Pair(self._replaced(FINNISH.words(title)), number, False))
        place = {row["node_id"]: number for number, row in enumerate(rows)}
        for path in sorted(questions.glob("*.jsonl")):
            for line in path.open(encoding="utf-8"):
                item = json.loads(line)
                if item["id"] in place:
                    self.pairs += [Pair(self._of(text), place[item["id"]], True) for text in item["questions"]]
        self.pairs = [pair for pair in self.pairs if pair.words]
        self.words = list(self._numbers)

    def _of(self, text: str) -> Words:
        return [self._numbers.setdefault(word, len(self._numbers)) for word in dict.fromkeys(FINNISH.words(text))]

    def _by_term(self) -> dict[str, list[str]]:
        said = thesaurus("fi")
        assert said is not None
        found: dict[str, list[str]] = {}
        for variant, terms in said._variants.items():
            for term in terms:
                if len(term) == 1:
                    found.setdefault(FINNISH.lemma(term[0]), []).append(" ".join(variant))
        return found

    def _replaced(self, words: Sequence[str]) -> Words:
        """Terms become what people say instead, seven times in ten."""
        said = []
        for word in words:
            known = self._variants.get(FINNISH.lemma(word))
            said.append(self._random.choice(known) if known and self._random.random() < 0.7 else word)
        return self._of(" ".join(said))

    def _reworded(self, text: str) -> Words:
        clauses = [words for part in re.split(r"[.;:]\s", text) if len(words := FINNISH.words(part)) >= 4]
        if not clauses:
            return []
        words = self._random.choice(clauses)
        start = self._random.randint(0, max(0, len(words) - 12))
        return self._replaced(words[start : start + self._random.randint(4, 12)])


class Model(nn.Module):
    def __init__(self, vectors: np.ndarray, words: Sequence[str]) -> None:
        super().__init__()
        rows = [places(word, NGRAMS, len(vectors)) for word in words]
        self.vectors = nn.Parameter(torch.tensor(vectors))
        self.register_buffer("start", torch.tensor(vectors))
        self.register_buffer("rows", torch.tensor([number for row in rows for number in row]))
        self.register_buffer("offsets", torch.tensor(np.cumsum([0, *map(len, rows)])[:-1]))
        self.gate = nn.Sequential(nn.Linear(SIZE, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))
        nn.init.zeros_(self.gate[2].weight)
        nn.init.zeros_(self.gate[2].bias)

    def forward(self, *batches: Sequence[Words]) -> list[Tensor]:
        vectors = functional.embedding_bag(self.rows, self.vectors, self.offsets, mode="mean")
        weights = torch.exp(self.gate(functional.normalize(vectors, dim=1))[:, 0].clamp(-3, 3))
        return [self._texts(vectors, weights, batch) for batch in batches]

    def _texts(self, vectors: Tensor, weights: Tensor, batch: Sequence[Words]) -> Tensor:
        flat = torch.tensor([word for words in batch for word in words], device=vectors.device)
        offsets = torch.tensor(np.cumsum([0, *map(len, batch)])[:-1], device=vectors.device)
        summed = functional.embedding_bag(flat, vectors, offsets, mode="sum", per_sample_weights=weights[flat])
        return functional.normalize(summed, dim=1)

    def moved(self) -> Tensor:
        return ((self.vectors - self.start) ** 2).sum(1).mean() / (self.start**2).sum(1).mean()


def train(model: Model, data: Data, steps: int, device: str) -> None:
    rng = np.random.default_rng(0)
    groups: list[dict[str, Any]] = [
        {"params": [model.vectors], "lr": RATE},
        {"params": model.gate.parameters(), "lr": GATE_RATE},
    ]
    optimiser, rates = torch.optim.Adam(groups), (RATE, GATE_RATE)
    chance = np.array([WRITTEN if pair.written else 1.0 for pair in data.pairs])
    size = min(BATCH, len(data.pairs))

    def some(words: Words, share: float) -> Words:
        return [word for word in words if rng.random() > share] or words

    for step in range(steps):
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            progress = step / steps
            group["lr"] = rate * min(1, progress / 0.05) * max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
        drawn = [data.pairs[n] for n in rng.choice(len(chance), size, replace=False, p=chance / chance.sum())]
        asked, found = model(
            [some(pair.words, 0.1) for pair in drawn], [some(data.moments[pair.moment], 0.3) for pair in drawn]
        )
        scores = (asked @ found.T * SCALE).masked_fill(_not_negative(drawn, data.section).to(device), -1e4)
        target = torch.arange(size, device=device)
        loss = functional.cross_entropy(scores, target) + 0.5 * functional.cross_entropy(scores.T, target)
        loss = loss + ANCHOR * model.moved()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            log.info("step %d of %d, loss %.3f", step, steps, loss.item())


def _not_negative(drawn: Sequence[Pair], section: np.ndarray) -> Tensor:
    """Another moment of the same section is no negative, unless both questions were written for their moment."""
    moment = np.array([pair.moment for pair in drawn])
    written = np.array([pair.written for pair in drawn])
    same = section[moment][:, None] == section[moment][None]
    apart = written[:, None] & written[None] & (moment[:, None] != moment[None])
    return torch.tensor(same & ~apart & ~np.eye(len(drawn), dtype=bool))


def write(model: Model, folder: Path) -> None:
    vectors = model.vectors.detach().cpu().numpy()
    scale = np.abs(vectors).max(1, keepdims=True) / 127 + 1e-9
    gate = {name: value.detach().cpu().numpy() for name, value in model.gate.state_dict().items()}
    np.save(folder / "static-fi-1.rows.npy", np.round(vectors / scale).astype(np.int8))
    np.savez(
        folder / "static-fi-1.gate.npz",
        scale=scale.astype(np.float32),
        inner=gate["0.weight"],
        bias=gate["0.bias"],
        outer=gate["2.weight"][0],
        offset=gate["2.bias"][0],
    )
    about = {"language": "fi", "ngrams": list(NGRAMS), "size": SIZE}
    (folder / "static-fi-1.json").write_text(json.dumps(about) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--acts", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(0)
    given = np.load(args.vectors).astype(np.float32)
    given = given @ np.linalg.svd(given.T @ given)[0][:, :SIZE]
    data = Data(args.acts, args.questions, seed=0)
    log.info("%d words, %d moments, %d pairs", len(data.words), len(data.moments), len(data.pairs))
    model = Model(given, data.words).to(args.device)
    train(model, data, args.steps, args.device)
    write(model, args.out)


if __name__ == "__main__":
    main()
