"""Read the shipped weights of law-fi-1 or law-he-1 back into one file, to train them further.

    python law_weights.py --language fi --models packages/models/src/assay_models --out fi-init.npz

The layers are int8 in the shipped file: what is read back is within a cosine of .9999.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

MATRICES = ("qkv", "out", "up", "down")


def layers(path: Path) -> dict[str, np.ndarray]:
    """The layers by the names of the network's parameters, int8 matrices with their scales."""
    graph = onnx.load(str(path)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    parts = ("_quantized", "_scale", "_zero_point")
    found = {
        name: value
        for name, value in stored.items()
        if name.startswith("network.") and not name.endswith(parts)
    }
    quantized = [
        (stored[node.input[1]], node.input[1])
        for node in graph.node
        if node.op_type == "MatMulInteger"
    ]
    names = [f"network.blocks.{n}.{part}.weight" for n in range(6) for part in MATRICES]
    names.append("network.project.weight")
    for (values, name), target in zip(quantized, names, strict=True):
        found[target] = values.T
        found[f"{target}:scale"] = stored[name.replace("_quantized", "_scale")][:, None]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    name = f"law-{args.language}-1"
    words = np.load(args.models / f"{name}.words.npz")
    frequent = (args.models / f"{name}.words.txt").read_text(encoding="utf-8").split("\n")
    np.savez_compressed(
        args.out,
        frequent=np.array([word for word in frequent if word]),
        rows=words["rows"],
        row_scale=words["row_scale"],
        own=words["own"],
        own_scale=words["own_scale"],
        **{"map.weight": words["map"], "map.bias": words["bias"]},
        **layers(args.models / f"{name}.onnx"),
    )


if __name__ == "__main__":
    main()
