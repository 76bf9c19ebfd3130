"""The encoder for English provisions: gte-small, trained so that a statement lies beside the
article that decides it.

    python codes_encoder.py --base GTE --tokenizer TOKENIZER --opinions OPINIONS --judged GOLD... \
        --out codes-en-1.onnx

GTE is a folder with config.json and model.safetensors of gte-small (MIT). The articles and
statements are codes.jsonl.gz beside this script: four made-up codes, written for this. Every
statement is compared with the articles of its own code. Every other batch pairs what an opinion
concludes with what it was asked, so that other wording of the law is not forgotten; opinions of
the gold sets are left out. The weights that ship lie between those of gte-small and the trained
ones: what is new, and most of what was known."""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from encoder import Optimiser, Tokens, embed, half_precision, make_model
from export import write_onnx
from opinions import held_out, read_judged, read_opinions
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from transformers import BertModel

CODES = Path(__file__).parent / "codes.jsonl.gz"
STEPS = 500
RATE = 5e-5
SCALE = 20.0  # of the cosine
STATEMENTS, ARTICLES, OPINIONS = 192, 400, 256  # of a batch
QUERY, TEXT = 126, 254  # tokens
FEWEST = 8  # words of a question or a conclusion
MOST_OPINIONS = 8_000
SHARE = 0.7  # of the trained weights, in those that ship
log = logging.getLogger("codes")


class Code(NamedTuple):
    articles: list[Tokens]
    statements: list[tuple[Tokens, int]]  # and the article that decides it


def read_codes(tokenizer: Tokenizer) -> list[Code]:
    codes: dict[str, Code] = {}
    with gzip.open(CODES, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            code = codes.setdefault(row["code"], Code([], []))
            place = len(code.articles)
            code.articles.append(_tokens(tokenizer, f"{row['title']} {row['text']}", TEXT))
            for statement in row["statements"]:
                code.statements.append((_tokens(tokenizer, statement, QUERY), place))
    return list(codes.values())


def read_pairs(
    folder: Path, judged: list[Path], tokenizer: Tokenizer
) -> list[tuple[Tokens, Tokens]]:
    """What opinions conclude, and what they were asked."""
    opinions = read_opinions(folder)
    excluded = held_out(opinions, read_judged(judged))
    pairs = []
    for opinion, is_held_out in zip(opinions, excluded, strict=True):
        concluded = _plain(opinion.conclusion_synthetic or opinion.conclusion)
        asked = _plain(opinion.question_synthetic or opinion.question)
        if is_held_out or min(len(concluded.split()), len(asked.split())) < FEWEST:
            continue
        pairs.append((_tokens(tokenizer, concluded, QUERY), _tokens(tokenizer, asked, TEXT)))
    random.Random(0).shuffle(pairs)
    return pairs[:MOST_OPINIONS]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:700]


def _tokens(tokenizer: Tokenizer, text: str, most: int) -> Tokens:
    ids: Tokens = tokenizer.encode(text, add_special_tokens=False).ids
    return ids[:most]


def losses(
    model: BertModel, codes: list[Code], pairs: list[tuple[Tokens, Tokens]], device: str
) -> Iterator[Tensor]:
    """By turns: statements and the articles of one code, conclusions and questions."""
    draw = random.Random(0)
    sizes = [len(code.statements) for code in codes]
    while True:
        yield _of_code(model, draw.choices(codes, sizes)[0], draw, device)
        if pairs:
            drawn = draw.sample(pairs, min(OPINIONS, len(pairs)))
            with half_precision(device):
                said = embed(model, [one for one, _ in drawn], device)
                asked = embed(model, [other for _, other in drawn], device)
            scores = SCALE * said @ asked.T
            own = torch.arange(len(drawn), device=device)
            both = functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)
            yield both / 2


def _of_code(model: BertModel, code: Code, draw: random.Random, device: str) -> Tensor:
    drawn = draw.sample(code.statements, min(STATEMENTS, len(code.statements)))
    others = draw.sample(range(len(code.articles)), min(ARTICLES, len(code.articles)))
    places = sorted({place for _, place in drawn} | set(others))
    column = {place: number for number, place in enumerate(places)}
    with half_precision(device):
        stated = embed(model, [tokens for tokens, _ in drawn], device)
        articles = embed(model, [code.articles[place] for place in places], device)
    target = torch.tensor([column[place] for _, place in drawn], device=device)
    return functional.cross_entropy(SCALE * stated @ articles.T, target)


def mixed(before: dict[str, Tensor], after: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        key: SHARE * after[key] + (1 - SHARE) * before[key]
        if after[key].is_floating_point()
        else after[key]
        for key in after
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", type=Path, required=True, help="folder of gte-small")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--opinions", type=Path, help="folder with YEAR/NAME.json; or none")
    parser.add_argument("--judged", type=Path, nargs="*", default=[], help="opinions to leave out")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True, help="the ONNX file to write")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(args.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    codes = read_codes(tokenizer)
    pairs = read_pairs(args.opinions, args.judged, tokenizer) if args.opinions else []
    log.info("%d codes, %d pairs of opinions", len(codes), len(pairs))
    model = make_model(args.base, attention="eager").to(args.device)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.train()
    optimiser = Optimiser(model, RATE)
    drawn = losses(model, codes, pairs, args.device)
    for step in range(args.steps):
        loss = next(drawn)
        optimiser.step(loss, (step + 1) / args.steps)
        if not step % 50:
            log.info("step %d, loss %.3f", step, loss.item())
    model.load_state_dict(mixed(before, dict(model.state_dict())))
    log.info("cosine to the model: fp32 %.4f, int8 %.4f", *write_onnx(model.cpu(), args.out))


if __name__ == "__main__":
    main()
