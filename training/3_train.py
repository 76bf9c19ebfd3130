"""Step 3: the encoder that ships. Every query is compared with every document of its batch, as the
teacher does.

    python 3_train.py --base MINILM --tokenizer tokenizer.json --run RUN

Reads the files of steps 1 and 2; writes RUN/encoder.safetensors.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from batches import Pairs
from encoder import Texts, Tokens, embed, half_precision, make_model
from loop import encoded, train_for
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional
from transformers import BertModel

BATCH, LIST = 224, 4  # queries a batch, candidates a query
SCALE = 20.0  # of the cosine
TEMPERATURE = 9.0  # softmax(teacher * 9)
RATE = 1e-4
OWN_MOST = 1.7  # the teacher's score of a query's own opinion is held down to this
log = logging.getLogger("train")


class Teacher:
    """LSA cosine + .2 citation cosine + .7 first encoder's cosine, for any two opinions."""

    def __init__(self, run: Path, device: str) -> None:
        self._lsa = torch.from_numpy(np.load(run / "lsa.npy")).to(device)
        self._first = torch.from_numpy(np.load(run / "first.npy")).to(device)
        self._cited = torch.from_numpy(
            sp.load_npz(run / "citations.npz").toarray().astype(np.float32)
        ).to(device)

    def __call__(self, rows: Tensor, others: Tensor) -> Tensor:
        alike = self._lsa[rows] @ self._lsa[others].T
        alike += 0.2 * (self._cited[rows] @ self._cited[others].T)
        return alike + 0.7 * (self._first[rows] @ self._first[others].T)


def regrade(pairs: Pairs, teacher: Teacher, device: str) -> None:
    """Order the candidates by the teacher plus half of step 1's similarity: for what is drawn, not
    for the target."""
    for query in range(len(pairs.doc)):
        span = pairs.span(query)
        source = torch.tensor([pairs.doc[query]], device=device)
        likeness = teacher(source, torch.from_numpy(pairs.cand[span]).to(device))[0].cpu().numpy()
        pairs.alike[span] = likeness + 0.5 * np.maximum(0, pairs.alike[span])


def draw(pairs: Pairs, query: int) -> tuple[list[Tokens], np.ndarray]:
    """One of the 8 best, one of the next 22, two of the rest; one time in four the last is the
    query's own opinion."""
    rng, span = pairs.rng, pairs.span(query)
    order = np.argsort(-pairs.alike[span])
    chosen = np.concatenate(
        [rng.choice(order[:8], 1), rng.choice(order[8:30], 1), rng.choice(order[30:], LIST - 2)]
    )
    rows = pairs.cand[span][chosen].copy()
    views = [pairs.view(row, 0.9) for row in rows]
    if rng.random() < 0.25 and len(own := pairs.own_view(query)) > 20:
        views[-1], rows[-1] = own, pairs.doc[query]
    return views, rows


def batch_loss(
    model: BertModel, pairs: Pairs, teacher: Teacher, queries: np.ndarray, device: str
) -> Tensor:
    drawn = [draw(pairs, query) for query in queries]
    sources = torch.from_numpy(pairs.doc[queries]).to(device)
    rows = torch.from_numpy(np.concatenate([example[1] for example in drawn])).to(device)
    with torch.no_grad():
        grades = teacher(sources, rows)
        grades = torch.where(sources[:, None] == rows[None], grades.clamp(max=OWN_MOST), grades)
        target = functional.softmax(grades * TEMPERATURE, 1)
    with half_precision(device):
        asked = embed(model, [pairs.texts.queries[query] for query in queries], device)
        vectors = embed(model, [view for example in drawn for view in example[0]], device)
    return functional.kl_div(
        functional.log_softmax(asked @ vectors.T * SCALE, 1), target, reduction="batchmean"
    )


def train(pairs: Pairs, teacher: Teacher, args: argparse.Namespace) -> BertModel:
    device = args.device
    model = make_model(args.base).to(device)
    model.train()

    def loss_of(queries: np.ndarray) -> Tensor:
        return batch_loss(model, pairs, teacher, queries, device)

    steps = train_for(model, args.seconds, RATE, pairs.batches(BATCH), loss_of)
    encoded(model, pairs, steps, device)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="folder of steps 1 and 2")
    parser.add_argument(
        "--seconds", type=float, default=330, help="training time; 330 on one H200 made the weights"
    )
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    pairs = Pairs(
        args.run / "pairs.npz",
        Texts(args.run / "texts.json", args.tokenizer),
        np.random.default_rng(0),
    )
    teacher = Teacher(args.run, args.device)
    regrade(pairs, teacher, args.device)
    log.info("%d training queries, %d for validation", len(pairs.training), len(pairs.validation))
    model = train(pairs, teacher, args)
    state = {key: value.float().cpu().contiguous() for key, value in model.state_dict().items()}
    save_file(state, args.run / "encoder.safetensors")


if __name__ == "__main__":
    main()
