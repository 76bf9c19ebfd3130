"""Step 2: what the final encoder learns from: LSA vectors, citation vectors, and a first encoder.

    python 2_teacher.py --opinions OPINIONS --base MINILM --tokenizer tokenizer.json --run RUN

Reads step 1's files in RUN; writes RUN/lsa.npy, RUN/citations.npz and RUN/first.npy. With
--cpu-only the encoder is left out."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from batches import Pairs
from encoder import Texts, Tokens, embed, embed_all, half_precision, make_model
from loop import encoded, train_for
from opinions import read_opinions
from similarity import citation_matrix, count_terms, lsa
from torch import Tensor
from torch.nn import functional

BATCH, LIST = 128, 9  # queries a batch, candidates a query
TEMPERATURE = 6.0  # softmax(teacher * 6)
NEAR = 0.55  # an opinion this close to the query's own is no negative
log = logging.getLogger("teacher")


def write_vectors(folder: Path, run: Path) -> None:
    opinions = read_opinions(folder)
    np.save(run / "lsa.npy", lsa(count_terms(opinions)))
    sp.save_npz(run / "citations.npz", citation_matrix(opinions).astype(np.float32))


def draw(pairs: Pairs, query: int) -> tuple[list[Tokens], np.ndarray, np.ndarray]:
    """Two of the ten best candidates and seven of the rest; three times in ten one is the query's
    own opinion."""
    rng, span = pairs.rng, pairs.span(query)
    grades = pairs.alike[span]
    order = np.argsort(-grades)
    rest = rng.choice(order[10:], LIST - 2, replace=len(order) - 10 < LIST - 2)
    chosen = np.concatenate([rng.choice(order[:10], 2, replace=False), rest])
    rows, grade = pairs.cand[span][chosen].copy(), grades[chosen].copy()
    views = [pairs.view(row, 0.85) for row in rows]
    if rng.random() < 0.3 and len(own := pairs.own_view(query)) > 20:
        views[0], rows[0], grade[0] = own, pairs.doc[query], max(grade.max(), 1.2) + 0.1
    return views, rows, grade


def list_loss(
    scores: Tensor, teacher: Tensor, rows: Tensor, sources: Tensor, base: Tensor
) -> Tensor:
    """KL over each query's own list, plus half a contrastive loss against the rest of the batch.

    scores: queries x (queries * LIST). The positive is the teacher's best; near opinions are no
    negatives."""
    n = len(scores)
    places = torch.arange(n, device=scores.device)
    own = scores.view(n, n, LIST)[places, places]
    wanted = functional.softmax(teacher * TEMPERATURE, 1)
    kl = functional.kl_div(functional.log_softmax(own, 1), wanted, reduction="batchmean")
    flat = rows.view(-1)
    banned = (base[sources] @ base[flat].T > NEAR) | (flat[None] == sources[:, None])
    block = torch.zeros(n, n, LIST, dtype=torch.bool, device=scores.device)
    block[places, places] = True
    negatives = scores.masked_fill(banned | block.view(n, -1), -1e4)
    best = own.gather(1, teacher.argmax(1, keepdim=True))
    target = torch.zeros(n, dtype=torch.long, device=scores.device)
    return kl + 0.5 * functional.cross_entropy(torch.cat([best, negatives], 1), target)


def train_first(pairs: Pairs, args: argparse.Namespace) -> np.ndarray:
    """The first encoder; returns its vectors of all opinions."""
    model, device = make_model(args.base).to(args.device), args.device
    base = embed_all(model, pairs.texts.index, device)
    vectors = base.cpu().numpy()
    for query in range(len(pairs.doc)):
        span = pairs.span(query)
        pairs.alike[span] += 0.5 * np.maximum(
            0, vectors[pairs.cand[span]] @ vectors[pairs.doc[query]]
        )

    def loss_of(queries: np.ndarray) -> Tensor:
        drawn = [draw(pairs, query) for query in queries]
        rows = torch.from_numpy(np.stack([example[1] for example in drawn])).to(device)
        teacher = torch.from_numpy(np.stack([example[2] for example in drawn])).to(device)
        sources = torch.from_numpy(pairs.doc[queries]).to(device)
        with half_precision(device):
            asked = embed(model, [pairs.texts.queries[query] for query in queries], device)
            documents = embed(model, [view for example in drawn for view in example[0]], device)
        return list_loss(asked @ documents.T * args.scale, teacher, rows, sources, base)

    steps = train_for(model, args.seconds, args.rate, pairs.batches(BATCH), loss_of)
    return encoded(model, pairs, steps, device)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--opinions", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="folder of step 1")
    parser.add_argument("--seconds", type=float, default=330, help="training time")
    parser.add_argument(
        "--rate", type=float, default=1e-4, help="learning rate (README: what is not on record)"
    )
    parser.add_argument(
        "--scale", type=float, default=20.0, help="of the cosine (README: what is not on record)"
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cpu-only", action="store_true", help="LSA and citations only")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    write_vectors(args.opinions, args.run)
    log.info("LSA and citation vectors written")
    if args.cpu_only:
        return
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    pairs = Pairs(
        args.run / "pairs.npz",
        Texts(args.run / "texts.json", args.tokenizer),
        np.random.default_rng(0),
    )
    np.save(args.run / "first.npy", train_first(pairs, args))


if __name__ == "__main__":
    main()
