"""Write corpus.jsonl from the opinions: one line per opinion, in order of year and id.

Usage: python make_corpus.py
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent


def line(opinion):
    cites = opinion["citations"]
    return {
        "id": opinion["id"],
        "title": f"{opinion['parsed']['requestor_name']} Advice Letter, No. {opinion['id']}",
        "text": opinion["content"]["full_text"],
        "year": opinion["year"],
        "topic": opinion["classification"]["topic_primary"],
        "citations": cites["government_code"] + cites["regulations"] + cites["prior_opinions"],
    }


def main():
    opinions = [
        json.loads(p.read_text(encoding="utf-8")) for p in (HERE / "opinions").glob("*/*.json")
    ]
    opinions.sort(key=lambda o: (o["year"], o["id"]))
    with open(HERE / "corpus.jsonl", "w", encoding="utf-8", newline="\n") as out:
        for opinion in opinions:
            out.write(json.dumps(line(opinion), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
