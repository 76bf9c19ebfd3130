"""Train law-fi-1 or law-he-1 further on lay questions over many fields of law, on one GPU.

Starts from shipped weights (`--init`, written by `law_weights.py`), goes on with the pairs of
`law_encoder.py`, and adds questions that people would type, each beside the section that answers
it, among other sections of the same act and those that the model takes for it.

    python law_questions.py fi.json.xz --questions fi.questions.json --init fi-init.npz \
        --language fi --seconds 150 --try 256:2e-4:0.5:4:0 --out OUT

The questions file has `train` and `dev`: lists of [question, number of the section in the data].
Acts of dev questions are held out by `law_data.py`. After each setting the script prints how many
dev questions find their section first and within five, among the sections of the dev acts (alone)
and of these and the home acts (beside). The best weights are written, or the mean of the best of
each setting where that is better.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from law_encoder import (
    DOC,
    FIRST,
    FREQUENT,
    PAD,
    QMARK,
    QUERY,
    ROW_WIDTH,
    ROWS,
    Batches,
    Data,
    Encoder,
    evaluate,
    gather_docs,
    neighbours,
    save,
    words_of,
)
from torch import nn

SIBLINGS = 3  # other sections of the act beside each question: taste
MISTAKEN = 40  # sections that the model puts first for a question, of which some are drawn: taste
SAME = 0.93  # cosine from which a section says what the right one says: taste
WAYS = (0.5, 0.75, 1.0)  # from the shipped weights to the trained ones
MINED = 4  # times that mistaken sections are looked for in a training: taste
Setting = tuple[int, float, float, int, float]
log = logging.getLogger("questions")


def initial(model: Encoder, data: Data, path: str) -> None:
    """Put the shipped weights into the model; frequent words are found by name."""
    stored = dict(np.load(path))
    frequent = {word: row for row, word in enumerate(stored.pop("frequent").tolist())}
    rows = stored.pop("rows").astype(np.float32) * stored.pop("row_scale")
    own = stored.pop("own").astype(np.float32) * stored.pop("own_scale")
    scales = {name: stored.pop(name) for name in list(stored) if name.endswith(":scale")}
    state = {}
    for name, value in stored.items():
        state[name] = torch.from_numpy(value.astype(np.float32) * scales.get(f"{name}:scale", 1))
    model.load_state_dict(state, strict=False)
    data.often = list(frequent)
    number = np.full(len(data.words) + FIRST, FREQUENT + FIRST, np.int64)
    number[:FIRST] = np.arange(FIRST)
    for at, word in enumerate(data.words):
        if word in frequent:
            number[at + FIRST] = frequent[word] + FIRST
    with torch.no_grad():
        model.rows[:ROWS] = torch.from_numpy(rows).to(model.rows.device)
        model.own.weight[: len(own)] = torch.from_numpy(own).to(model.rows.device)
        model.own.weight[-1] = 0
    model.number = torch.from_numpy(number).to(model.rows.device)


class Questions:
    """Lay questions as ids, and the sections beside them."""

    def __init__(self, data: Data, pairs: list[list], device: str, rng) -> None:
        known = {word: at + FIRST for at, word in enumerate(data.words)}
        self.data, self.device, self.rng = data, device, rng
        self.ids = np.zeros((len(pairs), QUERY), np.int64)
        for row, (text, _) in enumerate(pairs):
            ids = [known[word] for word in words_of(text) if word in known][: QUERY - 1]
            self.ids[row, : len(ids) + 1] = [QMARK, *ids]
        self.section = np.array([number for _, number in pairs])
        order = np.argsort(data.acts, kind="stable")
        first = np.searchsorted(data.acts[order], np.arange(data.acts.max() + 2))
        self.act = [order[a:b] for a, b in pairwise(first)]
        self.mistaken = np.zeros((len(pairs), 0), np.int64)

    def mine(self, model: Encoder, every: torch.Tensor) -> None:
        """Of each question, the sections that the model takes for the right one: half of them in
        its act, half elsewhere."""
        acts = torch.from_numpy(self.data.acts).to(self.device)
        trained = torch.from_numpy(self.data.flag == 0).to(self.device)
        found = []
        for at in range(0, len(self.ids), 256):
            own = torch.from_numpy(self.section[at : at + 256]).to(self.device)
            with torch.no_grad():
                asked = model(torch.from_numpy(self.ids[at : at + 256]).to(self.device))[0]
            scores = asked.float() @ every.T
            scores[(every[own] @ every.T > SAME) | ~trained] = -2
            inside = acts[own][:, None] == acts
            for where in (inside, ~inside):
                found.append(scores.masked_fill(~where, -2).topk(MISTAKEN // 2))
        self.mistaken = np.concatenate(
            [
                torch.where(values > -2, numbers, -1).cpu().numpy()
                for values, numbers in (
                    (torch.cat([a.values, b.values], 1), torch.cat([a.indices, b.indices], 1))
                    for a, b in zip(found[::2], found[1::2], strict=True)
                )
            ]
        )

    def batch(self, size: int, hard: int = 0):
        rng = self.rng
        chosen = rng.choice(len(self.ids), min(size, len(self.ids)), replace=False)
        ids = self.ids[chosen].copy()
        lost = (rng.random(ids.shape) < 0.12) & ((ids != PAD).sum(1) > 4)[:, None]
        lost[:, 0] = False
        ids[lost] = PAD
        own = self.section[chosen]
        near = [rng.choice(self.act[self.data.acts[n]], SIBLINGS) for n in own]
        if hard:
            drawn = rng.choice(self.mistaken.shape[1], (len(own), hard))
            drawn = np.take_along_axis(self.mistaken[chosen], drawn, 1)
            near += [drawn[drawn >= 0]]
        numbers = np.concatenate([own, np.concatenate(near)])
        t = torch.from_numpy(numbers).to(self.device)
        n = len(numbers)
        with_title = torch.from_numpy((rng.random(n) < 0.85).astype(np.int64)).to(self.device)
        with_head = torch.from_numpy((rng.random(n) < 0.85).astype(np.int64)).to(self.device)
        zero = torch.zeros_like(t)
        docs = gather_docs(self.data, self.data.doc, t, with_title, with_head, zero, zero, DOC)
        return torch.from_numpy(ids).to(self.device), docs, t


def measured(model, data, dev: Questions, device: str) -> dict[str, float]:
    """First and within five, dense alone."""
    model.eval()
    acts = {data.acts[n] for n in dev.section}
    alone = np.flatnonzero(np.isin(data.acts, list(acts)))
    beside = np.concatenate([alone, np.flatnonzero(data.flag == 2)])
    out = {}
    with torch.no_grad():
        vectors = []
        for part in torch.from_numpy(beside).to(device).split(4096):
            one, zero = torch.ones_like(part), torch.zeros_like(part)
            vectors.append(model(gather_docs(data, data.doc, part, one, one, zero, zero, DOC))[0])
        docs = torch.cat(vectors)
        scores = (model(torch.from_numpy(dev.ids).to(device))[0] @ docs.T).cpu().numpy()
    for name, pool in (("alone", alone), ("beside", beside)):
        part = scores[:, : len(pool)]
        own = part[np.arange(len(part)), np.searchsorted(alone, dev.section)]
        rank = (part > own[:, None]).sum(1)
        out[f"{name} first"], out[f"{name} five"] = (rank < 1).mean(), (rank < 5).mean()
    model.train()
    return out


def figures(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in found.items())


def train(model, data, asked: Questions, args, setting: Setting, device: str):
    batch, rate, share, hard, of_rows = setting
    scale = nn.Parameter(torch.tensor(math.log(30.0), device=device))
    batches = Batches(data, device, args.batch, args.facts)
    model.rows.requires_grad_(of_rows > 0)
    rest = [p for n, p in model.named_parameters() if n != "rows"]
    groups = [
        {"params": rest, "weight_decay": 0.02, "share": 1.0},
        {"params": [scale], "weight_decay": 0.0, "share": 1.0},
        {"params": [model.rows], "weight_decay": 0.0, "share": of_rows},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=device == "cuda")
    every = evaluate(model, data, device, "before")
    neighbours(every, batches, data, device)
    asked.mine(model, every)
    begun, step, mined = time.time(), 0, 1
    while (progress := (time.time() - begun) / args.seconds) < 1:
        if hard and progress > mined / MINED:
            mined += 1
            asked.mine(model, evaluate(model, data, device, f"step {step}"))
        for group in optimiser.param_groups:
            group["lr"] = group["share"] * rate * min(1, step / 100) * max(0.02, 1 - progress)
        q, d, number, heads, headid = batches.short()
        long = batches.long()
        ids, docs, where = asked.batch(batch, hard)
        vectors = model(q, d, ids, docs, *(long[:2] if long else ()))
        s = scale.exp().clamp(max=60)
        n = len(number)
        eye = torch.eye(n, dtype=torch.bool, device=device)
        skip = ((number[:, None] == number[None]) | (heads[:, None] == headid[None])) & ~eye
        scores = (vectors[0] @ vectors[1].T * s).masked_fill(skip, -1e4)
        target = torch.arange(n, device=device)
        loss = F.cross_entropy(scores, target) + 0.5 * F.cross_entropy(scores.T, target)
        own = torch.arange(len(ids), device=device)
        every = torch.cat([where, number])
        skip = where[: len(ids), None] == every[None]
        skip[own, own] = False
        said = vectors[2] @ torch.cat([vectors[3], vectors[1]]).T * s
        loss = loss + share * F.cross_entropy(said.masked_fill(skip, -1e4), own)
        if long:
            f = torch.arange(len(long[2]), device=device)
            every = torch.cat([long[2], number])
            skip = long[2][:, None] == every[None]
            skip[f, f] = False
            fact = vectors[4] @ torch.cat([vectors[5], vectors[1]]).T * s
            fact = fact.masked_fill(skip, -1e4)
            loss = loss + args.facts / args.batch * 2.0 * F.cross_entropy(fact, f)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            log.info("step %d, loss %.3f", step, loss.item())
    evaluate(model, data, device, f"after {step} steps")


def settings(text: str) -> Setting:
    """`128:2e-4:0.3:4:0.1` is 128 questions a batch, rate 2e-4, weight .3, 4 mistaken sections
    each, and a tenth of the rate for the rows of n-grams."""
    batch, rate, share, hard, of_rows = text.split(":")
    return int(batch), float(rate), float(share), int(hard), float(of_rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--init", required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--seconds", type=float, default=150, help="of each setting")
    parser.add_argument("--batch", type=int, default=1536)
    parser.add_argument("--facts", type=int, default=192)
    parser.add_argument("--try", dest="tries", type=settings, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every shape
    asked = json.loads(args.questions.read_text())
    data = Data(
        args.data, args.language, device, [text for part in asked.values() for text, _ in part]
    )
    data.doc_np = data.doc.cpu().numpy().astype(np.int64)
    rng = np.random.default_rng(0)
    train_set = Questions(data, asked["train"], device, rng)
    dev = Questions(data, asked["dev"], device, rng)
    best, good = 0.0, []

    def keep(weights: dict[str, torch.Tensor], name: str) -> float:
        nonlocal best
        model.load_state_dict(weights)
        found = measured(model, data, dev, device)
        log.info("%s: %s", name, figures(found))
        if (total := sum(found.values())) > best:
            best = total
            save(model, data.often, args.out)
        return total

    for number, setting in enumerate(args.tries):
        model = Encoder(data, torch.zeros(ROWS, ROW_WIDTH), 6).to(device)
        initial(model, data, args.init)
        shipped = {name: value.clone() for name, value in model.state_dict().items()}
        if number == 0:
            log.info("as shipped: %s", figures(measured(model, data, dev, device)))
        train(model, data, train_set, args, setting, device)
        trained = {name: value.clone() for name, value in model.state_dict().items()}
        mixed = [
            {name: shipped[name] * (1 - way) + trained[name] * way for name in shipped}
            for way in WAYS
        ]
        totals = [
            keep(one, f"{setting}, {way:.2f} of the way")
            for one, way in zip(mixed, WAYS, strict=True)
        ]
        good.append(mixed[int(np.argmax(totals))])
    if len(good) > 1:
        mean = {name: torch.stack([one[name] for one in good]).mean(0) for name in good[0]}
        keep(mean, "mean of the best of each setting")


if __name__ == "__main__":
    main()
