"""Step 4: the trained encoder as one ONNX file (export.py).

python 4_export.py --base MINILM --run RUN --out opinions-en-1.onnx
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from encoder import make_model
from export import write_onnx
from safetensors.torch import load_file

log = logging.getLogger("export")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--run", type=Path, required=True, help="folder of step 3")
    parser.add_argument("--out", type=Path, required=True, help="the ONNX file to write")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    bert = make_model(args.base, attention="eager")
    bert.load_state_dict(load_file(args.run / "encoder.safetensors"), strict=False)
    log.info("cosine to the model: fp32 %.4f, int8 %.4f", *write_onnx(bert, args.out))


if __name__ == "__main__":
    main()
