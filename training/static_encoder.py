"""A static encoder: n-gram vectors trained so that a question lies beside the moment that answers
it.

    python static_encoder.py --language fi --corpus laws --vectors VECTORS --out OUT
    python static_encoder.py --language he --corpus israel --size 128 --out OUT
    python static_encoder.py --language fi --corpus laws --out OUT --init SHIPPED \
        --data fi.json.xz --questions fi.questions.json

With `--init` the vectors begin with those in a folder, and `--questions` adds questions on sections
of `--data`, the files of law_questions.py. OUT is packages/models/src/assay_models for a release,
any other folder for a trial.

The corpus is one that `assay corpus import` made. VECTORS is the file vocab/vectors of the package
spacy-fi-experimental-web-md 0.15 (MIT); without it the vectors begin with what the corpus itself
says (latent semantic analysis). Four kinds of pairs: questions written for moments
(they ship with the package), as they are and carelessly typed; section titles; tags; passages in
which terms were replaced by what the thesaurus has for them. Needs torch and scipy; one thread is
fastest."""

from __future__ import annotations

import argparse
import json
import logging
import lzma
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import svds
from torch import Tensor, nn
from torch.nn import functional

from assay.core.workspace import workspace
from assay.corpus import open_corpus
from assay.language.analysis import Analyzer, analyzer
from assay.language.finnish import without_dots
from assay.search.document_questions import shipped
from assay.search.law_encoder import places
from assay.search.thesaurus import thesaurus
from assay.search.views import view_of

HIDDEN = 48
NGRAMS = {"fi": (4, 5), "he": (3, 4)}
ROWS = 50_000  # of vectors that begin from the corpus
SCALE = 20.0
RATE, GATE_RATE = 1.5e-3, 3e-3  # for vectors of length 1 on average
ANCHOR = 0.01  # how much the vectors are held to where they began
WRITTEN = 8.0  # a question written for a moment is drawn this many times as often as another pair
COMMON = 150  # words that stand in questions of every kind
LONGEST = 120  # words of a moment
Words = list[int]
log = logging.getLogger("static")


class Pair(NamedTuple):
    words: Words
    moment: int
    written: bool


Section = tuple[tuple[str, str, str], list[str]]


class Data:
    """Words by number, the moments they make up, and the pairs."""

    def __init__(self, language: Analyzer, corpus: str, more: Sequence[Section] = ()) -> None:
        """`more`: sections of other acts as (act, title, text), and the questions on each."""
        self._language, self._random, self._numbers = language, random.Random(0), {}
        self._variants = self._by_term()
        documents = list(open_corpus(workspace(), corpus).iter())
        views = [view_of(document) for document in documents]
        section: dict[str, int] = {}
        self.section = np.array(
            [section.setdefault(view.group or view.id, len(section)) for view in views]
        )
        self.moments = [self._of(f"{view.title} {view.body}") for view in views]
        self.pairs: list[Pair] = []
        for number, view in enumerate(views):
            said = [
                self._of(view.title),
                self._of(view.tags),
                self._replaced(language.words(view.title)),
            ]
            said += [self._reworded(view.body) for _ in range(2)]
            self.pairs += [Pair(words, number, False) for words in said if words]
        place = {document.id: number for number, document in enumerate(documents)}
        written = [
            (place[record.id], text)
            for record in shipped(language.language)
            if record.id in place
            for text in record.questions
        ]
        acts = [view.act for view in views]
        for (act, title, text), questions in more:
            number = len(self.moments)
            acts.append(act)
            self.moments.append(self._of(f"{title} {text}"))
            if title:
                self.pairs.append(Pair(self._of(title), number, False))
            written += [(number, question) for question in questions]
        extra = np.arange(len(more)) + len(section)
        self.section = np.concatenate([self.section, extra])
        often = Counter(word for _, text in written for word in language.words(text)).most_common(
            COMMON
        )
        common = [word for word, _ in often]
        for number, text in written:
            said = [self._of(text), self._of(self._carelessly(text, common))]
            self.pairs += [Pair(words, number, True) for words in said if words]
        self.words = list(self._numbers)
        laws = np.array([acts[pair.moment] for pair in self.pairs])
        self.by_law = [np.flatnonzero(laws == law) for law in np.unique(laws)]

    def _of(self, text: str) -> Words:
        words = dict.fromkeys(self._language.words(text))
        return [self._numbers.setdefault(word, len(self._numbers)) for word in words]

    def _by_term(self) -> dict[str, list[str]]:
        said = thesaurus(self._language.language)
        assert said is not None
        variants: dict[str, list[str]] = {}
        for entry, term in chain(*said._entries.values()):
            if len(term) == 1:
                variants.setdefault(self._language.lemma(term[0]), []).append(" ".join(entry))
        return variants

    def _replaced(self, words: Sequence[str]) -> Words:
        """Terms become what people say instead, seven times in ten."""
        said = []
        for word in words:
            known = self._variants.get(self._language.lemma(word))
            said.append(
                self._random.choice(known) if known and self._random.random() < 0.7 else word
            )
        return self._of(" ".join(said))

    def _carelessly(self, text: str, common: Sequence[str]) -> str:
        """The question as it may be typed: slips in some words, and up to four more words that say
        nothing."""
        words = [
            self._slip(w) if self._random.random() < 0.25 else w for w in self._language.words(text)
        ]
        return " ".join(words + self._random.choices(common, k=self._random.randint(0, 4)))

    def _slip(self, word: str) -> str:
        at = self._random.randrange(len(word))
        slips = (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
            without_dots(word),
        )
        return self._random.choice(slips) or word

    def _reworded(self, text: str) -> Words:
        clauses = [
            words
            for part in re.split(r"[.;:]\s", text)
            if len(words := self._language.words(part)) >= 4
        ]
        if not clauses:
            return []
        words = self._random.choice(clauses)
        start = self._random.randint(0, max(0, len(words) - 12))
        return self._replaced(words[start : start + self._random.randint(4, 12)])


def learned(data: Data, language: Analyzer, size: int) -> np.ndarray:
    """Vectors from the texts alone: words by the moments and sections they stand in, n-grams by
    their words."""
    lemma: dict[str, int] = {}
    of = np.array([lemma.setdefault(language.lemma(word), len(lemma)) for word in data.words])
    texts = _bags(
        [[int(of[word]) for word in words] for words in data.moments], len(lemma)
    ).minimum(1)
    sections = sparse.csr_matrix(
        (np.ones(len(data.section), np.float32), (data.section, np.arange(len(data.section))))
    )
    counts = sparse.vstack([texts, sections @ texts]).tocsr().log1p()
    held = np.bincount(counts.indices, minlength=len(lemma))
    rarity = np.where(held > 1, np.log1p(counts.shape[0] / np.maximum(held, 1)), 0).astype(
        np.float32
    )
    _, strength, basis = svds(counts @ sparse.diags(rarity), k=size, random_state=0)
    vectors = (basis.T * np.sqrt(strength))[of]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
    known = held[of] > 1
    share = _grams(
        [word for word, is_known in zip(data.words, known, strict=True) if is_known],
        language.language,
        ROWS,
    )
    share.data[:] = 1
    summed = share.T @ vectors[known] / np.maximum(np.asarray(share.sum(0)).T, 1)
    return np.asarray(summed + np.random.default_rng(0).normal(0, 0.02, summed.shape), np.float32)


def _grams(words: Sequence[str], language: str, rows: int) -> Any:
    """A row a word: the places of its n-grams, each an equal share."""
    grams = [places(word, NGRAMS[language], rows) for word in words]
    share = np.concatenate([np.full(len(row), 1 / len(row), np.float32) for row in grams])
    starts = np.cumsum([0, *map(len, grams)])
    return sparse.csr_matrix((share, list(chain(*grams)), starts), shape=(len(words), rows))


def _bags(texts: Sequence[Words], words: int) -> Any:
    starts = np.cumsum([0, *map(len, texts)])
    flat = np.fromiter(chain(*texts), np.int32, int(starts[-1]))
    return sparse.csr_matrix(
        (np.ones(len(flat), np.float32), flat, starts), shape=(len(texts), words)
    )


class Times(torch.autograd.Function):
    """A fixed sparse matrix times a dense one: several times as fast as torch's own bags on a
    CPU."""

    @staticmethod
    def forward(ctx: Any, matrix: Any, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(matrix @ dense.detach().numpy())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, torch.from_numpy(ctx.matrix.T.tocsr() @ gradient.numpy())


class Model(nn.Module):
    def __init__(self, vectors: np.ndarray, words: Sequence[str], language: str) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.tensor(vectors))
        self.start = torch.tensor(vectors)
        self.grams = _grams(words, language, len(vectors))
        self.gate = nn.Sequential(
            nn.Linear(vectors.shape[1], HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1)
        )
        nn.init.zeros_(self.gate[2].weight)
        nn.init.zeros_(self.gate[2].bias)

    def forward(self, *batches: Sequence[Words]) -> list[Tensor]:
        used = np.unique(np.fromiter(chain(*chain(*batches)), np.int64))
        vectors = Times.apply(self.grams[used], self.vectors)
        weights = torch.exp(self.gate(functional.normalize(vectors, dim=1)).clamp(-3, 3))
        texts = (
            _bags([np.searchsorted(used, words).tolist() for words in batch], len(used))
            for batch in batches
        )
        return [functional.normalize(Times.apply(bags, vectors * weights), dim=1) for bags in texts]

    def moved(self) -> Tensor:
        return ((self.vectors - self.start) ** 2).sum(1).mean() / (self.start**2).sum(1).mean()


def train(model: Model, data: Data, steps: int, batch: int, same_law: float, rate: float) -> None:
    """`same_law`: the share of a batch that comes from one act, whose moments are hardest to tell
    apart."""
    rng = np.random.default_rng(0)
    groups: list[dict[str, Any]] = [
        {"params": [model.vectors], "lr": rate},
        {"params": model.gate.parameters(), "lr": GATE_RATE},
    ]
    optimiser, rates = torch.optim.Adam(groups), (rate, GATE_RATE)
    chance = np.array([WRITTEN if pair.written else 1.0 for pair in data.pairs])
    law_chance = np.array([chance[pairs].sum() for pairs in data.by_law]) / chance.sum()

    def drawn(pairs: np.ndarray, size: int) -> list[int]:
        share = chance[pairs] / chance[pairs].sum()
        return list(rng.choice(pairs, min(size, len(pairs) // 2), replace=False, p=share))

    def some(words: Words, share: float) -> Words:
        return [word for word in words if rng.random() > share] or words

    for step in range(steps):
        for group, most in zip(optimiser.param_groups, rates, strict=True):
            progress = step / steps
            group["lr"] = (
                most * min(1, progress / 0.05) * max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
            )
        near = drawn(data.by_law[rng.choice(len(law_chance), p=law_chance)], int(batch * same_law))
        numbers = dict.fromkeys(near + drawn(np.arange(len(chance)), batch - len(near)))
        pairs = [data.pairs[number] for number in numbers]
        asked, documents = model(
            [some(pair.words, 0.1) for pair in pairs],
            [some(data.moments[pair.moment], 0.3)[:LONGEST] for pair in pairs],
        )
        scores = (asked @ documents.T * SCALE).masked_fill(_not_negative(pairs, data.section), -1e4)
        target = torch.arange(len(pairs))
        loss = functional.cross_entropy(scores, target) + 0.5 * functional.cross_entropy(
            scores.T, target
        )
        loss = loss + ANCHOR * model.moved()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            log.info("step %d of %d, loss %.3f", step, steps, loss.item())


def _not_negative(drawn: Sequence[Pair], section: np.ndarray) -> Tensor:
    """Another moment of the same section is no negative, unless both questions were written for
    their moment."""
    moment = np.array([pair.moment for pair in drawn])
    written = np.array([pair.written for pair in drawn])
    same = section[moment][:, None] == section[moment][None]
    apart = written[:, None] & written[None] & (moment[:, None] != moment[None])
    return torch.tensor(same & ~apart & ~np.eye(len(drawn), dtype=bool))


def write(model: Model, folder: Path, language: str) -> None:
    vectors = model.vectors.detach().numpy()
    scale = np.abs(vectors).max(1, keepdims=True) / 127 + 1e-9
    gate = {name: value.detach().numpy() for name, value in model.gate.state_dict().items()}
    name = f"static-{language}-1"
    np.save(folder / f"{name}.rows.npy", np.round(vectors / scale).astype(np.int8))
    np.savez(
        folder / f"{name}.gate.npz",
        scale=scale.astype(np.float32),
        inner=gate["0.weight"],
        bias=gate["0.bias"],
        outer=gate["2.weight"][0],
        offset=gate["2.bias"][0],
    )
    about = {"language": language, "ngrams": NGRAMS[language], "size": vectors.shape[1]}
    (folder / f"{name}.json").write_text(json.dumps(about) + "\n", encoding="utf-8")


def asked_sections(data: Path, questions: Path) -> list[Section]:
    """The sections that questions for training are asked of."""
    rows = json.loads(lzma.decompress(data.read_bytes()))["sections"]
    by_section: dict[int, list[str]] = {}
    for text, number in json.loads(questions.read_text(encoding="utf-8"))["train"]:
        by_section.setdefault(number, []).append(text)
    return [
        ((rows[number][0], rows[number][3], rows[number][4]), texts)
        for number, texts in by_section.items()
    ]


def shipped_model(model: Model, folder: Path, language: str) -> None:
    """Begin with the vectors and the gate of a static encoder."""
    name = f"static-{language}-1"
    rows = np.load(folder / f"{name}.rows.npy").astype(np.float32)
    with np.load(folder / f"{name}.gate.npz") as gate:
        model.vectors.data = torch.from_numpy(rows * gate["scale"])
        model.gate[0].weight.data = torch.from_numpy(gate["inner"])
        model.gate[0].bias.data = torch.from_numpy(gate["bias"])
        model.gate[2].weight.data = torch.from_numpy(gate["outer"][None])
        model.gate[2].bias.data = torch.from_numpy(gate["offset"].reshape(1))
    model.start = model.vectors.data.clone()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", choices=NGRAMS, required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--init", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--same-law", type=float, default=0.5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    language = analyzer(args.language)
    more = asked_sections(args.data, args.questions) if args.questions else []
    data = Data(language, args.corpus, more)
    log.info("%d words, %d moments, %d pairs", len(data.words), len(data.moments), len(data.pairs))
    if args.vectors:
        given = np.load(args.vectors).astype(np.float32)
        vectors = given @ np.linalg.svd(given.T @ given)[0][:, : args.size]
    elif args.init:
        vectors = np.zeros((ROWS, args.size), np.float32)
    else:
        vectors = learned(data, language, args.size)
    vectors = vectors / (np.linalg.norm(vectors, axis=1).mean() or 1)
    model = Model(vectors, data.words, args.language)
    if args.init:
        shipped_model(model, args.init, args.language)
    train(model, data, args.steps, args.batch, args.same_law, args.rate)
    write(model, args.out, args.language)


if __name__ == "__main__":
    main()
