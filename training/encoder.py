"""The encoder in torch: MiniLM's layers, the views of a document it reads, mean pooling."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opinions import ANALYSIS, ASKED, BODY, CITED, CONCLUSION, FACTS, QUESTION, SUMMARY
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel

Tokens = list[int]
Parts = list[Tokens]
CLS, SEP = 101, 102
QUERY_TOKENS = 126  # 128 with the two marks
_CONFIG = (
    "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size"
    " max_position_embeddings type_vocab_size hidden_act layer_norm_eps"
).split()


def make_model(folder: Path, *, attention: str | None = None) -> BertModel:
    """The start: all-MiniLM-L6-v2 (config.json, model.safetensors), six layers. Word embeddings
    stay as they are."""
    given = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config = BertConfig(**{key: given[key] for key in _CONFIG if key in given})
    if attention:
        config._attn_implementation = attention
    model = BertModel(config, add_pooling_layer=False)
    state = {
        key: value
        for key, value in load_file(folder / "model.safetensors").items()
        if "pooler" not in key
    }
    missing = [
        key
        for key in model.load_state_dict(state, strict=False).missing_keys
        if "position_ids" not in key
    ]
    if missing:
        raise SystemExit(f"{folder}/model.safetensors lacks {missing[:5]}")
    model.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


class Texts:
    """The texts of a run as token ids."""

    def __init__(self, path: Path, tokenizer: Path) -> None:
        stored = json.loads(path.read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.queries = [tokens[:QUERY_TOKENS] for tokens in self._ids(stored["queries"])]
        columns = [self._ids(column) for column in zip(*stored["parts"], strict=True)]
        self.parts: list[Parts] = [list(row) for row in zip(*columns, strict=True)]
        self.index = [index_view(parts) for parts in self.parts]

    def _ids(self, texts: Iterable[str]) -> list[Tokens]:
        return [
            encoding.ids
            for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]


def index_view(parts: Parts) -> Tokens:
    """What is encoded when an opinion is indexed."""
    tokens = (
        parts[ASKED][:80] + parts[QUESTION][: 90 if parts[ASKED] else 120] + parts[CONCLUSION][:90]
    )
    if len(tokens) < 60:
        tokens = tokens + parts[SUMMARY][:60] + parts[BODY][:160] + parts[ANALYSIS][:100]
    return tokens[:230] + parts[CITED][:24]


def facts_view(parts: Parts) -> Tokens:
    return (parts[FACTS] or parts[ANALYSIS] or parts[BODY])[:200]


def analysis_view(parts: Parts) -> Tokens:
    return (parts[ANALYSIS] or parts[CONCLUSION] or parts[BODY])[:200]


def conclusion_view(parts: Parts) -> Tokens:
    return parts[CONCLUSION][:120] + parts[FACTS][:80]


# views of a query's own opinion that do not repeat the query: by kind of query (question, facts,
# keywords)
OWN_VIEWS = (
    (conclusion_view, facts_view, analysis_view),
    (index_view, analysis_view),
    (facts_view, analysis_view),
)


def pad(sequences: Sequence[Tokens], device: str) -> tuple[Tensor, Tensor]:
    """Token ids between [CLS] and [SEP], and the mask; the width is a multiple of eight."""
    framed = [[CLS, *tokens, SEP] for tokens in sequences]
    width = (max(map(len, framed)) + 7) // 8 * 8
    ids, mask = np.zeros((len(framed), width), np.int64), np.zeros((len(framed), width), np.int64)
    for row, tokens in enumerate(framed):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def embed(model: BertModel, sequences: Sequence[Tokens], device: str) -> Tensor:
    """Mean of the token states, unit length."""
    ids, mask = pad(sequences, device)
    states = model(
        input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids)
    ).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return functional.normalize(mean.float(), dim=1)


def half_precision(device: str) -> AbstractContextManager[Any]:
    """bfloat16 on a GPU; a CPU, for trying the scripts out, computes in full."""
    kind = torch.device(device).type
    return torch.autocast(kind, torch.bfloat16, enabled=kind != "cpu")


@torch.no_grad()
def embed_all(
    model: BertModel, sequences: Sequence[Tokens], device: str, batch: int = 512
) -> Tensor:
    model.eval()
    order = np.argsort([len(tokens) for tokens in sequences])
    vectors = torch.zeros(len(sequences), model.config.hidden_size, device=device)
    for at in range(0, len(order), batch):
        rows = order[at : at + batch]
        with half_precision(device):
            embedded = embed(model, [sequences[row] for row in rows], device)
        vectors[torch.from_numpy(rows).to(device)] = embedded
    model.train()
    return vectors


class Optimiser:
    """AdamW, warm-up over 6% of the run, cosine to 2%, gradients clipped at 1. Progress is a share
    of the time."""

    def __init__(self, model: nn.Module, rate: float) -> None:
        self._model, self._rate = model, rate
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        self._adam = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01, fused=True)

    def step(self, loss: Tensor, progress: float) -> None:
        for group in self._adam.param_groups:
            cosine = max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
            group["lr"] = self._rate * min(1, progress / 0.06) * cosine
        self._adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._adam.step()
