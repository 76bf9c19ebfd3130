"""Train law-fi-1 or law-he-1: a small transformer over words, from nothing, on one GPU.

A word is the mean of the vectors of its character n-grams (hashed, 50,000 rows) plus a vector of
its own where it is frequent. Six layers, 384 wide, mean of states, 256 numbers. Contrastive: a
heading, a sentence or everyday words lie beside the rest of their section, and a court's facts
beside the provisions that it printed or cited.

    python law_encoder.py DATA.json.xz --language fi --rows floret.npz --seconds 480 --out OUT

Data: `law_data.py`. The shipped law-fi-1 is the mean of two sets of weights: those after 490 s, and
those after 560 s more from there with --init, --rate 6e-4 and --facts 256. law-he-1: 270 s with
--facts 0. `law_export.py` writes the files of the package.
"""

from __future__ import annotations

import argparse
import json
import logging
import lzma
import math
import os
import random
import re
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, SIZE = 384, 6, 256
ROWS, ROW_WIDTH, FREQUENT, CAP = 50_000, 192, 20_000, 96
TITLE, HEAD, DOC, QUERY, FACTS = 14, 16, 144, 32, 112
LENGTHS = 6  # groups of texts of like length that a batch is read in, to save padding
NGRAMS = {"fi": (4, 5), "he": (3, 4)}
PAD, QMARK, DMARK, SEP, FIRST = 0, 1, 2, 3, 4
WORD = re.compile(r"[^\W_]+")
PROCESSES = os.cpu_count() or 1
log = logging.getLogger("law")
SEED = 2166136261
M64 = (1 << 64) - 1


def words_of(text):
    return WORD.findall(text.lower().replace("\u05f3", "").replace("\u05f4", ""))


def murmur(data, seed=SEED):
    """First 64 bits of MurmurHash3 x64 128."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def rot(x, r):
        return ((x << r) | (x >> (64 - r))) & M64

    h1 = h2 = seed
    n = len(data)
    full = n // 16 * 16
    for at in range(0, full, 16):
        k1 = int.from_bytes(data[at : at + 8], "little")
        k2 = int.from_bytes(data[at + 8 : at + 16], "little")
        h1 ^= rot(k1 * c1 & M64, 31) * c2 & M64
        h1 = (rot(h1, 27) + h2) * 5 + 0x52DCE729 & M64
        h2 ^= rot(k2 * c2 & M64, 33) * c1 & M64
        h2 = (rot(h2, 31) + h1) * 5 + 0x38495AB5 & M64
    tail = data[full:]
    if len(tail) > 8:
        h2 ^= rot(int.from_bytes(tail[8:], "little") * c2 & M64, 33) * c1 & M64
    if tail:
        h1 ^= rot(int.from_bytes(tail[:8], "little") * c1 & M64, 31) * c2 & M64
    h1 ^= n
    h2 ^= n
    h1 = h1 + h2 & M64
    h2 = h2 + h1 & M64

    def mix(k):
        k ^= k >> 33
        k = k * 0xFF51AFD7ED558CCD & M64
        k ^= k >> 33
        k = k * 0xC4CEB9FE1A85EC53 & M64
        return k ^ k >> 33

    return (mix(h1) + mix(h2)) & M64


def places(word, sizes):
    marked = f"<{word}>"
    grams = [marked]
    for size in sizes:
        grams += [marked[at : at + size] for at in range(len(marked) - size + 1)]
    rows = []
    for gram in grams:
        h = murmur(gram.encode())
        rows += [(h & 0xFFFFFFFF) % ROWS, (h >> 32) % ROWS]
    return rows


def _places(job):
    words, sizes = job
    return [places(word, sizes)[:CAP] for word in words]


SENT = re.compile(r"(?<=[.;:])\s+(?=[^\d\s)])")


def _split(job):
    """Per section: title, heading and sentences as words; everyday variants of clauses."""
    rows, lay, seed = job
    rnd = random.Random(seed)
    out = []
    for _, title, _, head, text, _ in rows:
        sents = [w for s in SENT.split(text) if (w := words_of(s))]
        clauses = [i for i, s in enumerate(sents) if len(s) >= 5]
        said = []
        heads = words_of(head)[:HEAD]
        for turn in range(4):
            if turn == 0 and heads:
                words, at = heads, -1
            elif clauses:
                at = rnd.choice(clauses)
                start = rnd.randint(0, max(0, len(sents[at]) - 12))
                words = sents[at][start : start + rnd.randint(4, 14)]
            else:
                continue
            new = []
            for word in words:
                known = lay.get(word)
                if known and rnd.random() < 0.7:
                    new += words_of(rnd.choice(known))
                elif rnd.random() < 0.12 and len(word) > 3:
                    new.append(slip(word, rnd))
                elif rnd.random() > 0.08:
                    new.append(word)
            if turn and rnd.random() < 0.3:
                rnd.shuffle(new)
            if new:
                said.append((at, new[:QUERY]))
        out.append((words_of(title)[:TITLE], heads, sents, said))
    return out


DOTS = str.maketrans("äöå", "aoa")


def slip(word, rnd):
    at = rnd.randrange(len(word))
    kind = rnd.random()
    if kind < 0.4:
        return word.translate(DOTS)
    if kind < 0.55:
        return word[:at] + word[at + 1 :]
    if kind < 0.7:
        return word[:at] + word[at] + word[at:]
    if kind < 0.85:
        return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    return word[: max(4, len(word) - rnd.randint(1, 3))]


class Data:
    def __init__(self, path, language, device, more=()):
        begun = time.time()
        raw = json.loads(lzma.decompress(Path(path).read_bytes()))
        rows = raw["sections"]
        step = 3000
        jobs = [(rows[at : at + step], raw["lay"], at) for at in range(0, len(rows), step)]
        with Pool(PROCESSES) as pool:
            split = [one for part in pool.map(_split, jobs) for one in part]
        self.flag = np.array([row[5] for row in rows])
        vocabulary = {}
        flat = []

        def put(words):
            start = len(flat)
            for word in words:
                number = vocabulary.setdefault(word, len(vocabulary) + FIRST)
                flat.append(number)
            return start, len(flat) - start

        doc, sents, said = [], [], []
        for number, (title, head, sentences, lays) in enumerate(split):
            t, h = put(title), put(head)
            begin = len(flat)
            bounds = []
            for one in sentences:
                s, n = put(one)
                bounds.append((s - begin, n))
            doc.append((*t, *h, begin, len(flat) - begin))
            for s, n in bounds:
                if n >= 5:
                    sents.append((number, s, n))
            for at, words in lays:
                s, n = put(words)
                a, b = (0, 0) if at < 0 else bounds[at]
                said.append((number, s, n, a, b, at))
        self.doc = torch.tensor(doc, dtype=torch.int32)
        self.sents = np.array(sents, np.int32)
        self.said = np.array(said, np.int32)

        def pairs(items):
            return [(*put(words_of(text)[: FACTS * 2]), n, g) for g, (text, n) in enumerate(items)]

        self.ctx = np.array(pairs(raw["ctx"]) or np.zeros((0, 4)), np.int64)
        court = []
        for g, (hw, ab, found) in enumerate(raw["court"]):
            h = put(words_of(hw)[:24])
            a = put(words_of(ab)[: FACTS * 2])
            court += [(*h, *a, n, g) for n in found]
        self.court = np.array(court or np.zeros((0, 6)), np.int64)
        self.para = np.array(
            [(*put(words_of(a)[:24]), *put(words_of(b)[:DOC])) for a, b in raw["para"]]
            or np.zeros((0, 4)),
            np.int64,
        )
        self.dev = [(put(words_of(q)[:FACTS]), p) for q, p in raw["dev"]]
        for text in more:
            put(words_of(text))
        self.acts = np.unique([row[0] for row in rows], return_inverse=True)[1]
        heads = [row[3].lower().strip() for row in rows]
        number = np.unique(heads, return_inverse=True)[1]
        empty = np.array([not h for h in heads])
        self.headid = np.where(empty, -1 - np.arange(len(heads)), number)
        self.headed = ~empty
        self.generic = np.bincount(number)[number] > 4
        self.flat = torch.tensor(flat, dtype=torch.int32)
        log.info("%d sections, %d words, %d different", len(rows), len(flat), len(vocabulary))
        counts = np.bincount(np.array(flat), minlength=len(vocabulary) + FIRST)
        self.words = list(vocabulary)
        sizes = NGRAMS[language]
        step = 4000
        with Pool(PROCESSES) as pool:
            grams = [
                r
                for part in pool.map(
                    _places,
                    [(self.words[a : a + step], sizes) for a in range(0, len(self.words), step)],
                )
                for r in part
            ]
        table = np.full((len(self.words) + FIRST, CAP), ROWS, np.int32)
        for number, rows_ in enumerate(grams):
            table[number + FIRST, : len(rows_)] = rows_
        self.table = torch.from_numpy(table)
        often = np.argsort(-counts[FIRST:], kind="stable")[:FREQUENT]
        own = np.full(len(self.words) + FIRST, FREQUENT + FIRST, np.int64)  # the last: none
        own[:FIRST] = np.arange(FIRST)
        own[often + FIRST] = np.arange(len(often)) + FIRST
        self.own = torch.from_numpy(own)
        self.often = [self.words[i] for i in often]
        for name in ("doc", "flat", "table", "own"):
            setattr(self, name, getattr(self, name).to(device))
        log.info("data ready after %.0f s", time.time() - begun)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, bias):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, WIDTH))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Network(nn.Module):
    """States of words to one vector."""

    def __init__(self, layers):
        super().__init__()
        self.position = nn.Parameter(torch.randn(256, WIDTH) * 0.02)
        self.first, self.last = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.project = nn.Linear(WIDTH, SIZE)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "position" not in name:
                nn.init.normal_(
                    p, std=0.02 / (math.sqrt(2 * layers) if "out" in name or "down" in name else 1)
                )

    def forward(self, x, valid):
        x = self.first(x + self.position[: x.shape[1]])
        bias = valid[:, None, None].expand(-1, 1, x.shape[1], -1)
        for block in self.blocks:
            x = block(x, bias)
        weight = valid[..., None].to(x.dtype)
        pooled = (self.last(x) * weight).sum(1) / weight.sum(1).clamp(min=1)
        return F.normalize(self.project(pooled).float(), dim=-1)


class Encoder(nn.Module):
    def __init__(self, data, rows, layers):
        super().__init__()
        self.rows = nn.Parameter(torch.cat([rows, torch.zeros(1, ROW_WIDTH)]))
        self.map = nn.Linear(ROW_WIDTH, WIDTH)
        self.own = nn.Embedding(FREQUENT + FIRST + 1, WIDTH, padding_idx=FREQUENT + FIRST)
        nn.init.normal_(self.own.weight, std=0.3)
        with torch.no_grad():
            self.own.weight[FIRST:] *= 0.3
            self.own.weight[-1] = 0
            self.map.weight.normal_(std=1.0)
        self.network = Network(layers)
        self.table, self.number = data.table, data.own

    def vectors(self, ids):
        used, place = torch.unique(ids, return_inverse=True)
        bags = F.embedding_bag(self.table[used].long(), self.rows, mode="mean", padding_idx=ROWS)
        out = self.map(bags) + self.own(self.number[used])
        return out.to(torch.bfloat16) if out.is_cuda else out, place

    def forward(self, *batches):
        """Each batch: ids (B, L) with 0 for nothing."""
        vectors, place = self.vectors(torch.cat([b.flatten() for b in batches]))
        out, at = [], 0
        for b in batches:
            ids = place[at : at + b.numel()].view(b.shape)
            at += b.numel()
            lengths = ((b != PAD) * torch.arange(1, b.shape[1] + 1, device=b.device)).amax(1)
            order = lengths.argsort()
            parts = [
                self.net(F.embedding(ids[rows, :most], vectors), b[rows, :most] != PAD)
                for rows in order.chunk(LENGTHS)
                for most in [-(-int(lengths[rows[-1]]) // 8) * 8]  # attention is slow otherwise
            ]
            out.append(torch.cat(parts)[order.argsort()])
        return out

    def net(self, x, valid):
        with torch.autocast("cuda", torch.bfloat16, enabled=x.is_cuda):
            return self.network(x, valid)


def gather_docs(data, table, number, title, head, cut_a, cut_n, length):
    """Ids of documents: marker, title, heading, text without [cut_a, cut_a + cut_n)."""
    row = table[number].long()
    dev = row.device
    t = row[:, 1] * title
    h = row[:, 3] * head
    p = torch.arange(length, device=dev)[None]
    t, h, tb, hb, xb, xn = (v[:, None] for v in (t, h, row[:, 0], row[:, 2], row[:, 4], row[:, 5]))
    j = p - 1 - t - h
    j2 = torch.where(j >= cut_a[:, None], j + cut_n[:, None], j)
    source = torch.where(p <= t, tb + p - 1, torch.where(p <= t + h, hb + p - 1 - t, xb + j2))
    ok = (p > 0) & ((p <= t + h) | (j2 < xn))
    ids = torch.where(ok, data.flat[source.clamp(0, len(data.flat) - 1)].long(), 0)
    ids[:, 0] = DMARK
    return ids


def gather_spans(data, spans, length, drop=0.0):
    """spans: (B, 2k) starts and lengths joined; a query marker first."""
    dev = spans.device
    p = torch.arange(length, device=dev)[None] - 1
    source = torch.zeros(len(spans), length, dtype=torch.long, device=dev)
    ok = torch.zeros_like(source, dtype=torch.bool)
    before = torch.zeros(len(spans), 1, dtype=torch.long, device=dev)
    for k in range(0, spans.shape[1], 2):
        s, n = spans[:, k : k + 1], spans[:, k + 1 : k + 2]
        here = (p >= before) & (p < before + n)
        source = torch.where(here, s + p - before, source)
        ok |= here
        before = before + n
    ids = torch.where(ok, data.flat[source.clamp(0, len(data.flat) - 1)].long(), 0)
    if drop:
        lost = (torch.rand(ids.shape, device=dev) < drop) & (before > 3)
        ids = torch.where(lost, 0, ids)
    ids[:, 0] = QMARK
    return ids


class Batches:
    """Queries with their documents: (query ids, document ids, which pairs are no negatives)."""

    def __init__(self, data, device, size, facts):
        self.data, self.device, self.size = data, device, size
        self.rng = np.random.default_rng(0)
        self.facts = facts
        train = data.flag == 0
        self.train = np.flatnonzero(train)
        order = np.argsort(data.acts[self.train], kind="stable")
        self.by_act = np.split(
            self.train[order], np.flatnonzero(np.diff(data.acts[self.train][order])) + 1
        )
        self.chance = np.array([min(len(a), 60) if len(a) > 7 else 0 for a in self.by_act], float)
        self.chance /= self.chance.sum()

        def starts(table):
            first = np.searchsorted(table[:, 0], np.arange(len(data.acts)))
            return first, np.searchsorted(
                table[:, 0], np.arange(len(data.acts)), side="right"
            ) - first

        self.sent_first, self.sent_n = starts(data.sents)
        self.lay_first, self.lay_n = starts(data.said)
        self.near = None  # neighbours

    def sections(self, size):
        rng = self.rng
        group = 32
        half = size // 2 // group
        chosen = []
        if self.near is None:
            for act in rng.choice(len(self.by_act), half, p=self.chance):
                rows = self.by_act[act]
                chosen.append(rng.choice(rows, min(group, len(rows)), replace=False))
        else:
            for act in rng.choice(len(self.by_act), half // 2, p=self.chance):
                rows = self.by_act[act]
                chosen.append(rng.choice(rows, min(group, len(rows)), replace=False))
            seeds = rng.integers(0, len(self.train), (half - half // 2) * 2)
            for seed in seeds:
                chosen.append(
                    self.train[
                        self.near[seed, rng.permutation(self.near.shape[1])[: group // 2 - 1]]
                    ]
                )
                chosen.append(self.train[seed : seed + 1])
        chosen = np.unique(np.concatenate(chosen))
        rest = self.train[rng.integers(0, len(self.train), size - len(chosen))]
        return np.concatenate([chosen, rest])

    def short(self):
        d, rng, n = self.data, self.rng, self.size
        number = self.sections(n)
        kind = rng.random(n)
        headed, sent_n, lay_n = d.headed[number], self.sent_n[number], self.lay_n[number]
        use_lay = (kind < 0.30) & (lay_n > 0)
        use_head = ~use_lay & ((kind < 0.62) | (sent_n < 2)) & headed
        use_sent = ~use_lay & ~use_head & (sent_n > 0)
        si = d.sents[
            np.minimum(
                self.sent_first[number] + (rng.random(n) * np.maximum(sent_n, 1)).astype(int),
                len(d.sents) - 1,
            )
        ]
        li = d.said[
            np.minimum(
                self.lay_first[number] + (rng.random(n) * np.maximum(lay_n, 1)).astype(int),
                len(d.said) - 1,
            )
        ]
        doc = d.doc_np[number]
        start, length = np.zeros(n, int), np.zeros(n, int)
        cut_a, cut_n = np.zeros(n, int), np.zeros(n, int)
        start[use_head], length[use_head] = doc[use_head, 2], doc[use_head, 3]
        long = si[:, 2]
        take = np.minimum(np.maximum(5, (long * rng.uniform(0.3, 1, n)).astype(int)), QUERY - 8)
        off = (rng.random(n) * np.maximum(0, long - take + 1)).astype(int)
        start[use_sent] = (doc[:, 4] + si[:, 1] + off)[use_sent]
        length[use_sent] = np.minimum(take, long)[use_sent]
        cut = use_sent & (sent_n > 1) & (rng.random(n) < 0.9)
        cut_a[cut], cut_n[cut] = si[cut, 1], si[cut, 2]
        start[use_lay], length[use_lay] = li[use_lay, 1], li[use_lay, 2]
        cut = use_lay & (li[:, 5] >= 0) & (sent_n > 1) & (rng.random(n) < 0.6)
        cut_a[cut], cut_n[cut] = li[cut, 3], li[cut, 4]
        bare = ~use_lay & ~use_head & ~use_sent  # its title
        start[bare], length[bare] = doc[bare, 0], doc[bare, 1]
        titled = (use_head & (rng.random(n) < np.where(d.generic[number], 0.8, 0.25))) | (
            ~use_head & (rng.random(n) < 0.12)
        )
        with_title = (rng.random(n) < 0.65) | (use_head & d.generic[number])
        with_head = ~use_head & ~(use_lay & (li[:, 5] < 0)) & (rng.random(n) < 0.75)
        t = self._numbers
        spans = t(np.stack([doc[:, 0], np.where(titled, doc[:, 1], 0), start, length], 1))
        queries = gather_spans(d, spans, QUERY, drop=0.05)
        docs = gather_docs(
            d, d.doc, t(number), t(with_title), t(with_head), t(cut_a), t(cut_n), DOC
        )
        heads = t(
            np.where(
                use_head | (use_lay & (li[:, 5] < 0)), d.headid[number], -1 - np.arange(n) - 10**7
            )
        )
        return queries, docs, t(number), heads, t(d.headid[number])

    def long(self):
        """Facts to provisions: a crop of an abstract, or what stands around a citation."""
        d, rng, n = self.data, self.rng, self.facts
        if not n or not len(d.court):
            return None
        a = n * 4 // 10
        c = d.court[rng.integers(0, len(d.court), a)]
        total = c[:, 3]
        take = np.minimum(np.maximum(12, (total * rng.uniform(0.3, 1, a)).astype(int)), FACTS - 26)
        take = np.minimum(take, total)
        off = (rng.random(a) * (total - take + 1)).astype(int)
        head = np.where(rng.random(a) < 0.75, c[:, 1], 0)
        one = np.stack([c[:, 0], head, c[:, 2] + off, take], 1)
        x = d.ctx[rng.integers(0, len(d.ctx), n - a)]
        take = np.minimum(
            np.maximum(12, (x[:, 1] * rng.uniform(0.4, 1, n - a)).astype(int)), FACTS - 2
        )
        take = np.minimum(take, x[:, 1])
        off = (rng.random(n - a) * (x[:, 1] - take + 1)).astype(int)
        two = np.stack([x[:, 0], np.zeros_like(off), x[:, 0] + off, take], 1)
        number = np.concatenate([c[:, 4], x[:, 2]])
        t = self._numbers
        queries = gather_spans(d, t(np.concatenate([one, two])), FACTS, drop=0.15)
        z = t(np.zeros(n))
        docs = gather_docs(
            d, d.doc, t(number), t(rng.random(n) < 0.85), t(rng.random(n) < 0.85), z, z, DOC
        )
        return queries, docs, t(number)

    def _numbers(self, values):
        return torch.from_numpy(np.asarray(values, np.int64)).to(self.device)

    def paraphrases(self, n):
        d, rng = self.data, self.rng
        if not n or not len(d.para):
            return None
        p = torch.from_numpy(d.para[rng.integers(0, len(d.para), n)]).to(self.device)
        docs = gather_spans(d, p[:, 2:], DOC)
        docs[:, 0] = DMARK
        return gather_spans(d, p[:, :2], QUERY), docs


def evaluate(model, data, device, say=""):
    model.eval()
    with torch.no_grad():

        def docs(table):
            out = []
            for at in range(0, len(table), 4096):
                n = torch.arange(at, min(at + 4096, len(table)), device=device)
                one, zero = torch.ones_like(n), torch.zeros_like(n)
                out.append(model(gather_docs(data, table, n, one, one, zero, zero, DOC))[0])
            return torch.cat(out)

        def queries(spans, length):
            return model(gather_spans(data, torch.tensor(spans, device=device), length))[0]

        every = docs(data.doc)
        report = {}
        if data.dev:
            q = queries([s for s, _ in data.dev], FACTS + 1)
            top = (q @ every.T).topk(50).indices.cpu().numpy()
            gains, recall = [], []
            for (_, right), found in zip(data.dev, top, strict=True):
                hit = np.isin(found[:10], right) / np.log2(np.arange(2, 12))
                gains.append(hit.sum() / (1 / np.log2(np.arange(2, 2 + min(10, len(right))))).sum())
                recall.append(np.isin(found, right).sum() / len(right))
            report["court ndcg10"], report["R50"] = np.mean(gains), np.mean(recall)
        held = np.flatnonzero((data.flag == 1) & data.headed & ~data.generic)[:4000]
        pool = np.flatnonzero(data.flag == 1)
        row = data.doc_np[held]
        q = queries(np.stack([row[:, 2], row[:, 3]], 1).tolist(), QUERY)
        n = torch.from_numpy(pool).to(device)
        bare = torch.cat(
            [
                model(
                    gather_docs(
                        data, data.doc, part, part * 0 + 1, part * 0, part * 0, part * 0, DOC
                    )
                )[0]
                for part in n.split(4096)
            ]
        )
        place = np.searchsorted(pool, held)
        scores = q @ bare.T
        own = scores[torch.arange(len(held)), torch.from_numpy(place).to(device)]
        rank = (scores > own[:, None]).sum(1) + 1
        report["held heading MRR"] = (1 / rank.float()).mean().item()
    model.train()
    log.info("%s %s", say, "; ".join(f"{k} {v:.3f}" for k, v in report.items()))
    return every


def neighbours(every, batches, data, device):
    """Of each training section its nearest ones, without near-copies."""
    v = every[torch.from_numpy(batches.train).to(device)].to(torch.bfloat16)
    out = []
    for part in v.split(4096):
        value, index = (part @ v.T).topk(64)
        value[value > 0.95] = -1
        out.append(index.gather(1, value.topk(32).indices).cpu().numpy())
    batches.near = np.concatenate(out)


def packed(vectors):
    """int8 rows with one scale each."""
    scale = np.abs(vectors).max(1, keepdims=True) / 127 + 1e-9
    return np.round(vectors / scale).astype(np.int8), scale.astype(np.float32)


def save(model, often, out):
    """Write the weights into four files of at most 16 MB; `law_export.py` reads them."""
    state = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    out.mkdir(parents=True, exist_ok=True)
    rows, row_scale = packed(state.pop("rows")[:ROWS])
    own, own_scale = packed(state.pop("own.weight")[: len(often) + FIRST])
    np.savez_compressed(out / "rows.npz", rows=rows, row_scale=row_scale)
    np.savez_compressed(out / "own.npz", words=np.array(often), own=own, own_scale=own_scale)
    names = sorted(state, key=lambda name: -state[name].size)
    for number in range(2):
        half = {name: state[name].astype(np.float16) for name in names[number::2]}
        np.savez(out / f"net-{number}.npz", **half)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--language", default="fi")
    parser.add_argument("--rows")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--facts", type=int, default=192)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=8e-4)
    parser.add_argument(
        "--hard", type=float, default=0.7, help="share of time after which neighbours are drawn"
    )
    parser.add_argument("--init")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    begun = time.time()
    data = Data(args.data, args.language, device)
    data.doc_np = data.doc.cpu().numpy().astype(np.int64)
    if args.rows:
        stored = np.load(args.rows)
        rows = torch.from_numpy(stored["rows"].astype(np.float32) * stored["scale"])
    else:
        rows = torch.randn(ROWS, ROW_WIDTH) / math.sqrt(ROW_WIDTH)
    model = Encoder(data, rows, args.layers).to(device)
    scale = nn.Parameter(torch.tensor(math.log(20.0), device=device))
    batches = Batches(data, device, args.batch, args.facts)
    fast = [p for n, p in model.named_parameters() if n != "rows"]
    rates = [args.rate, args.rate * (0.3 if args.rows else 1.0), args.rate]
    optimiser = torch.optim.AdamW(
        [
            {"params": fast, "weight_decay": 0.02},
            {"params": [model.rows], "weight_decay": 0.0},
            {"params": [scale], "weight_decay": 0.0},
        ],
        lr=args.rate,
        betas=(0.9, 0.98),
        fused=device == "cuda",
    )
    if args.init:
        model.load_state_dict(torch.load(args.init, map_location=device))
        neighbours(evaluate(model, data, device, "init"), batches, data, device)
    clock = time.time()
    left = args.seconds - (clock - begun)
    step, mined = 0, bool(args.init)
    while (progress := (time.time() - clock) / left) < 1:
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = (
                rate * min(1, step / 200) * max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
            )
        if progress > args.hard and not mined:
            mined = True
            neighbours(
                evaluate(model, data, device, f"{time.time() - begun:.0f}s step {step}"),
                batches,
                data,
                device,
            )
        q, d, number, heads, headid = batches.short()
        parts = [q, d]
        long, para = batches.long(), batches.paraphrases(64)
        if long:
            parts += [long[0], long[1]]
        if para:
            parts += [para[0], para[1]]
        vectors = model(*parts)
        s = scale.exp().clamp(max=60)
        scores = vectors[0] @ vectors[1].T * s
        n = len(number)
        eye = torch.eye(n, dtype=torch.bool, device=device)
        skip = ((number[:, None] == number[None]) | (heads[:, None] == headid[None])) & ~eye
        scores = scores.masked_fill(skip, -1e4)
        target = torch.arange(n, device=device)
        loss = F.cross_entropy(scores, target) + 0.5 * F.cross_entropy(scores.T, target)
        if long:
            f = len(long[2])
            pool = torch.cat([vectors[3], vectors[1]])
            where = torch.cat([long[2], number])
            fact = vectors[2] @ pool.T * s
            own = torch.arange(f, device=device)
            skip = long[2][:, None] == where[None]
            skip[own, own] = False
            loss = loss + args.facts / args.batch * 2.0 * F.cross_entropy(
                fact.masked_fill(skip, -1e4), own
            )
        if para:
            a, b = vectors[-2], vectors[-1]
            loss = loss + 0.05 * F.cross_entropy(
                a @ torch.cat([b, vectors[1]]).T * s, torch.arange(len(a), device=device)
            )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step in (1, 20, 60) or step % 250 == 0:
            log.info("step %d, loss %.3f", step, loss.item())
        if step % 1500 == 0:
            evaluate(model, data, device, f"step {step}")
    evaluate(model, data, device, f"end {step}")
    save(model, data.often, Path(args.out))


if __name__ == "__main__":
    main()
