"""An encoder in torch as one ONNX file: pooling and unit length in the graph, int8 weights.

Inputs input_ids and attention_mask, output embedding (384 numbers). Runs on a CPU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from transformers import BertModel


class Pooled(nn.Module):
    def __init__(self, model: BertModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        kinds = torch.zeros_like(input_ids)
        states = self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=kinds
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).float()
        mean = (states * mask).sum(1) / mask.sum(1)
        return mean / mean.norm(dim=1, keepdim=True)


def sample() -> tuple[Tensor, Tensor]:
    """Two rows of arbitrary tokens, the second one shorter."""
    ids = torch.randint(1000, 2000, (2, 12), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    return ids, mask


def export(model: Pooled, path: Path) -> None:
    rows = {0: "b", 1: "t"}
    torch.onnx.export(
        model,
        sample(),
        str(path),
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding"],
        dynamic_axes={"input_ids": rows, "attention_mask": rows, "embedding": {0: "b"}},
        opset_version=17,
        dynamo=False,
    )


def cosine(path: Path, model: Pooled) -> float:
    """Of the file's vectors with the model's, the mean over the sample."""
    ids, mask = sample()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    exported = session.run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]
    with torch.no_grad():
        expected = model(ids, mask).numpy()
    return float(np.mean((exported * expected).sum(axis=1)))


def write_onnx(bert: BertModel, path: Path) -> tuple[float, float]:
    """The cosine of what is written to the model, before and after rounding to int8."""
    model = Pooled(bert).eval()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "encoder.onnx"
        export(model, whole)
        # one scale a column, and seven bits: without VNNI the eighth bit overflows (cosine .956
        # instead of .991)
        quantize_dynamic(
            whole, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
        return cosine(whole, model), cosine(path, model)
