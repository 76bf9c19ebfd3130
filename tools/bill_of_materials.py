"""The bill of materials of the environment it runs in, as CycloneDX JSON on standard output: every
package that is installed, its version, its licence and its hash list. Nothing but the standard
library."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import Distribution, distributions
from typing import Any

LEFT_OUT = {"pip", "setuptools", "wheel"}
PREFIX = "License :: OSI Approved :: "


def bill() -> dict[str, Any]:
    found = {each.metadata["Name"].lower(): each for each in distributions()}
    parts = [component(each) for name, each in sorted(found.items()) if name not in LEFT_OUT]
    named = {part["name"]: part for part in parts}
    main = named.pop("assay-ir")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**main, "type": "application"}},
        "components": list(named.values()),
        "dependencies": [
            {"ref": part["bom-ref"], "dependsOn": needed(found[part["name"].lower()], named)}
            for part in [main, *named.values()]
        ],
    }


def component(each: Distribution) -> dict[str, Any]:
    name, version = each.metadata["Name"], each.version
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name.lower()}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name.lower()}@{version}",
    }
    if licence := licence_of(each):
        made["licenses"] = [licence]
    record = each.read_text("RECORD")  # names every file with its hash
    if record:
        made["hashes"] = [
            {"alg": "SHA-256", "content": hashlib.sha256(record.encode()).hexdigest()}
        ]
        made["properties"] = [{"name": "hash of", "value": "RECORD, which lists all files"}]
    return made


def licence_of(each: Distribution) -> dict[str, Any]:
    """The SPDX expression, else what the package says in words."""
    if expression := each.metadata.get("License-Expression"):
        return {"expression": expression}
    classified = [
        line.removeprefix(PREFIX)
        for line in each.metadata.get_all("Classifier") or ()
        if line.startswith(PREFIX)
    ]
    said = "; ".join(classified) or (each.metadata.get("License") or "").strip().split("\n")[0]
    return {"license": {"name": said[:200]}} if said else {}


def needed(each: Distribution, known: dict[str, dict[str, Any]]) -> list[str]:
    refs = {name.lower().replace("_", "-"): part["bom-ref"] for name, part in known.items()}
    names = set()
    for requirement in each.requires or ():
        name = requirement.split(";")[0].split("[")[0]
        for sign in "<>=!~ (":
            name = name.split(sign)[0]
        names.add(name.strip().lower().replace("_", "-").replace(".", "-"))
    return sorted(refs[name] for name in names if name in refs)


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
