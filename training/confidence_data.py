"""Make the collections that training/confidence.py needs beside those of eval/ and the importers.

    python training/confidence_data.py --data DATA --out MADE

Writes NAME.jsonl (documents) and NAME.golden.json (questions) for three kinds of collections:
decisions of the Supreme Administrative Court and the provisions of 22 acts, with section numbers
taken out of the question; the docstrings of Python's standard library, whose first sentences are
the questions; and the two made-up codes of eval/. Import and index each as a corpus of that name.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

EVAL = Path(__file__).parent.parent / "eval"
ACTS = (
    *("Hallintolainkäyttölaki", "Tuloverolaki", "Maankäyttö- ja rakennuslaki", "Vesilaki"),
    *("Arvonlisäverolaki", "Laki elinkeinotulon verottamisesta", "Ympäristönsuojelulaki"),
    *("Laki toimeentulotuesta", "Hallintolaki", "Ulkomaalaislaki", "Lastensuojelulaki"),
    *("Maankäyttö- ja rakennusasetus", "Laki verotusmenettelystä", "Luonnonsuojelulaki"),
    *("Laki viranomaisten toiminnan julkisuudesta", "Varainsiirtoverolaki", "Oikeusapulaki"),
    "Laki vammaisuuden perusteella järjestettävistä palveluista ja tukitoimista",
    *("Perintö- ja lahjaverolaki", "Valtion virkamieslaki", "Sosiaalihuoltolaki"),
    *("Ennakkoperintälaki", "Suomen perustuslaki"),
)
LATEST = 2010  # the year of an act that decisions to 2016 apply
LONGER = 40  # characters that the title of an act may have beside its name
CITED = re.compile(
    r"\d+\s*[a-z]?\s*(luvun|luku|§)[^\s,.;]*|\d+\s*(momenti\w*|mom\.?|kohda\w*|kohta)|\b\d+/\d{4}\b"
)
MODULES = (
    "json csv re os shutil pathlib datetime collections functools random statistics string "
    "textwrap logging argparse subprocess threading socket ssl email http urllib sqlite3 zipfile "
    "tarfile gzip hmac secrets uuid heapq queue asyncio contextlib dataclasses enum inspect ast "
    "dis pickle copy shelve tempfile glob fnmatch calendar locale codecs io select signal "
    "traceback warnings weakref types html xml.etree.ElementTree configparser getpass "
    "platform ctypes multiprocessing concurrent.futures sched unittest doctest pdb timeit "
    "cProfile trace smtplib imaplib ftplib"
).split()
Questions = list[tuple[str, list[str]]]  # each with the ids of documents that answer it


def courts(data: Path) -> tuple[list[dict[str, str]], Questions]:
    sections: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for one in _lines(data / "finlaw/acts.jsonl.xz"):
        title = one["title"].strip().rstrip("*").strip()
        for act in ACTS:
            is_act = title.lower().startswith(act.lower()) and "muutt" not in title.lower()
            if is_act and len(title) < len(act) + LONGER:
                sections[act][one["act"]].append(one)
    documents: dict[str, dict[str, str]] = {}
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for act, versions in sections.items():
        years = {int(number.split("/")[-1]): number for number in versions}
        newest = years[max(year for year in years if year <= LATEST)]
        for one in versions[newest]:
            doc_id = f"{newest}:{one['chapter'] or ''}:{one['section']}"
            title = f"{act} {one['section']} § {one['heading'] or ''}".strip()
            documents.setdefault(
                doc_id, {"id": doc_id, "title": title, "text": "\n".join(one["moments"])}
            )
            places[act][str(one["section"]).strip()] = doc_id
    return list(documents.values()), _decisions(data, places)


def _lines(path: Path) -> Iterator[dict]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _decisions(data: Path, places: dict[str, dict[str, str]]) -> Questions:
    questions: Questions = []
    for one in _lines(data / "finlaw/decisions-dev.jsonl.xz"):
        if one["court"] != "kho" or not one["provisions"] or not one["abstract"]:
            continue
        right = {
            places[act][number.replace(" ", "")]
            for part in " | ".join(one["provisions"]).split("|")
            for act in places
            if part.strip().startswith(f"{act} ")
            for number in re.findall(r"(\d+(?:\s?[a-z])?)\s*§", part.strip()[len(act) :])
            if number.replace(" ", "") in places[act]
        }
        text = f"{' '.join(one['headwords'])}. {' '.join(one['abstract'])[:600]}"
        text = " ".join(CITED.sub(" ", text).split())
        if right and len(text) > 60:
            questions.append((text, sorted(right)))
    return questions


def python_docs() -> tuple[list[dict[str, str]], Questions]:
    documents, questions, seen = [], [], set()
    for module in MODULES:
        for name, thing in sorted(vars(importlib.import_module(module)).items()):
            home = str(getattr(thing, "__module__", ""))
            is_own = home.partition(".")[0] == module.partition(".")[0]
            is_public = not name.startswith("_") and is_own
            if not is_public or not (inspect.isfunction(thing) or inspect.isclass(thing)):
                continue
            text = inspect.getdoc(thing) or ""
            first, _, rest = text.partition("\n")
            if len(text) < 150 or text in seen:
                continue
            seen.add(text)
            is_sentence = len(first) >= 25 and len(rest) >= 100 and not re.search(r" -> |\(", first)
            doc_id = f"{module}.{name}"
            body = rest.strip() if is_sentence else text
            documents.append({"id": doc_id, "title": doc_id, "text": body})
            if is_sentence:
                questions.append((f"{first.rstrip('.')}?", [doc_id]))
    return documents, questions


def code(kind: str) -> tuple[list[dict[str, str]], Questions]:
    lines = (EVAL / f"made_code_{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    articles = [json.loads(line) for line in lines]
    documents = [{name: one[name] for name in ("id", "title", "text")} for one in articles]
    return documents, [(text, [one["id"]]) for one in articles for text in one["statements"]]


def write(out: Path, name: str, documents: Iterable[dict], questions: Questions) -> None:
    random.Random(0).shuffle(questions)
    lines = (json.dumps(document, ensure_ascii=False) for document in documents)
    (out / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    golden = [
        {
            "id": f"{name}-{number}",
            "category": name,
            "must": False,
            "query": text,
            "expected_any": [{"doc_id": doc_id} for doc_id in right],
            "k": 10,
            "min_score": 0.0,
        }
        for number, (text, right) in enumerate(questions)
    ]
    written = json.dumps(golden, ensure_ascii=False, indent=1)
    (out / f"{name}.golden.json").write_text(written, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    write(given.out, "courts", *courts(given.data))
    write(given.out, "pydocs", *python_docs())
    for kind in ("hard", "plain"):
        write(given.out, f"code-{kind}", *code(kind))


if __name__ == "__main__":
    main()
