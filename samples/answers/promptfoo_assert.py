"""An assertion for promptfoo: the answer has no fault that can be told from its passages.

    assert:
      - type: python
        value: file://promptfoo_assert.py

`vars.context` holds the passages: a list of texts, or of objects with `id` and `text`."""

from __future__ import annotations

from typing import Any

import assay


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    given = context.get("vars", {}).get("context", [])
    found = assay.guard(output, [given] if isinstance(given, str) else given)
    return {"pass": found.ok, "score": float(found.ok), "reason": str(found)}
