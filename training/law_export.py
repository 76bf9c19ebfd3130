"""Write the files of law-fi-1 or law-he-1 from the folders of law_encoder.py; several are averaged.

python law_export.py --language fi --out FOLDER OUT [OUT2 ...]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from law_encoder import HEADS, NGRAMS, WIDTH, Network, packed
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn


class Layers(nn.Module):
    """The layers for one text at a time, so that nothing is masked."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor) -> Tensor:
        net = self.network
        states = net.first(words + net.position[: words.shape[1]])
        for block in net.blocks:
            batch, length, _ = states.shape
            split = block.qkv(block.n1(states)).view(batch, length, 3, HEADS, WIDTH // HEADS)
            query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
            shares = torch.softmax(query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5, -1)
            mixed = (shares @ value).transpose(1, 2).reshape(batch, length, WIDTH)
            states = states + block.out(mixed)
            states = states + block.down(F.gelu(block.up(block.n2(states))))
        return net.project(net.last(states).mean(1))


def write_layers(state: dict[str, Tensor], path: Path) -> None:
    """One scale a column, and seven bits: without VNNI the eighth bit overflows."""
    layers = sum(name.endswith("qkv.weight") for name in state)
    network = Network(layers)
    prefix = "network."
    network.load_state_dict({k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)})
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "layers.onnx"
        torch.onnx.export(
            Layers(network).eval(),
            (torch.randn(1, 7, WIDTH),),
            str(whole),
            input_names=["words"],
            output_names=["vector"],
            dynamic_axes={"words": {1: "n"}},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(
            whole, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )


def weights(folders: list[Path]) -> tuple[dict[str, np.ndarray], list[str]]:
    """The mean of the weights that `law_encoder.save` wrote, and the frequent words."""
    states = []
    for folder in folders:
        state: dict[str, np.ndarray] = {}
        for name in ("net-0", "net-1", "rows", "own"):
            with np.load(folder / f"{name}.npz") as stored:
                state.update(stored)
        words = state.pop("words").tolist()
        for name in ("rows", "own"):
            scale = state.pop("row_scale" if name == "rows" else "own_scale")
            state[name] = state[name].astype(np.float32) * scale
        states.append(state)
    mean = {
        name: np.mean([one[name].astype(np.float32) for one in states], axis=0) for name in state
    }
    return mean, words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--language", choices=NGRAMS, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    state, frequent = weights(args.weights)
    name = f"law-{args.language}-1"
    write_layers(
        {name: torch.from_numpy(value) for name, value in state.items()}, args.out / f"{name}.onnx"
    )
    rows, row_scale = packed(state["rows"])
    own, own_scale = packed(state["own"])
    np.savez(
        args.out / f"{name}.words.npz",
        rows=rows,
        row_scale=row_scale,
        own=own,
        own_scale=own_scale,
        map=state["map.weight"].astype(np.float16),
        bias=state["map.bias"],
    )
    (args.out / f"{name}.words.txt").write_text("\n".join(frequent) + "\n", encoding="utf-8")
    about = {
        "language": args.language,
        "ngrams": NGRAMS[args.language],
        "static": f"static-{args.language}-1",
    }
    (args.out / f"{name}.json").write_text(json.dumps(about) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
