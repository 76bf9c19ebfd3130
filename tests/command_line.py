"""What a command left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Assay = Callable[..., Outcome]


def run_assay(*args: object) -> int:
    """Run `assay ARGS` in this process, which may be a fork, and return its exit code."""
    import sys

    import assay.cli

    sys.argv = ["assay", *map(str, args)]
    try:
        assay.cli.main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0
