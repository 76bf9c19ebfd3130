"""Example engine: ranks opinions by how many words of the query they contain."""

import json
import re
from abc import ABC, abstractmethod
from pathlib import Path


class SearchEngine(ABC):
    @abstractmethod
    def search(self, query: str, top_k: int = 20) -> list[str]: ...

    def name(self) -> str:
        return self.__class__.__name__


class MyEngine(SearchEngine):
    def __init__(self):
        lines = Path(__file__).with_name("corpus.jsonl").read_text(encoding="utf-8").split("\n")
        docs = [json.loads(line) for line in lines if line]
        self.words = {d["id"]: set(re.findall(r"\w+", d["text"].lower())) for d in docs}

    def search(self, query: str, top_k: int = 20) -> list[str]:
        terms = set(re.findall(r"\w+", query.lower()))
        score = {i: len(terms & words) for i, words in self.words.items()}
        return sorted((i for i in score if score[i]), key=lambda i: (-score[i], i))[:top_k]
