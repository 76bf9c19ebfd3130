"""Is this tree fit to be released? Builds both packages twice and compares the bytes, installs them
in empty environments, and tries every extra alone. `make release-check` runs it; dist/ has what to
upload, with checksums and the bill of materials.

    python tools/release_check.py                     # every Python from 3.11 to 3.13 that is here
    python tools/release_check.py --extra search pdf  # these extras alone
    python tools/release_check.py --every             # every extra on every Python
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from release_smoke import EXTRAS, smoke

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PACKAGES = (ROOT, ROOT / "packages" / "models")
VERSIONS = ("3.11", "3.12", "3.13")
LOWEST = ("", "store", "serve", "mcp", "pdf", "postgres")  # of which extras
MOST_MEGABYTES = 300  # of a plain install
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="*", default=VERSIONS, help="3.11 3.12 3.13")
    parser.add_argument("--extra", nargs="*", default=list(EXTRAS), help="these alone")
    parser.add_argument("--every", action="store_true", help="every extra on every Python")
    given = parser.parse_args()
    pythons = {version: found for version in given.python if (found := interpreter(version))}
    if not pythons:
        sys.exit(f"none of these Pythons is here: {', '.join(given.python)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-release-") as scratch:
        build(Path(scratch))
        for version, python in pythons.items():
            plain(version, python, Path(scratch))
        first, last = next(iter(pythons)), list(pythons)[-1]
        for extra in LOWEST:
            lowest(first, pythons[first], extra, Path(scratch))
        for version, python in pythons.items():
            for extra in given.extra if given.every or version == last else ():
                alone(version, python, extra, Path(scratch))
    tell(f"fit to be released, after {time.monotonic() - began:.0f} s; dist/ has what to upload")


def tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def interpreter(version: str) -> str:
    """One on the path that starts, else the newest of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    ours = sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
    for candidate in (*ours, shutil.which(f"python{version}") or ""):
        done = (
            subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True)
            if candidate
            else None
        )
        if done is not None and done.returncode == 0:
            return str(candidate)
    return ""


# ── building ──────────────────────────────────────────────────────────────────────────────────────


def build(scratch: Path) -> None:
    """Two builds have the same bytes, and a wheel made from the sdist has them too."""
    python = environment(sys.executable, scratch / "build", ["hatchling>=1.27"])
    first, second = scratch / "first", scratch / "second"
    for folder in (first, second):
        for package in PACKAGES:
            run([python, "-m", "hatchling", "build", "-d", folder], cwd=package, env=dated())
    differ = [
        file.name for file in sorted(first.iterdir()) if hashed(file) != hashed(second / file.name)
    ]
    if differ:
        sys.exit(f"two builds differ: {', '.join(differ)}")
    again = scratch / "again"
    for sdist in first.glob("*.tar.gz"):
        run(
            [python, *PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", again, sdist],
            env=dated(),
        )
    for wheel in again.iterdir():
        if hashed(wheel) != hashed(first / wheel.name):
            sys.exit(f"{wheel.name} is another when it is built from the sdist")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(first, DIST)
    write_sums()
    for file in sorted(DIST.glob("assay*")):
        tell(f"built twice, the same: {file.name}, {file.stat().st_size / 1e6:.1f} MB")


def dated() -> dict[str, str]:
    """The time of the last commit, so that a build can be made again anywhere."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    return {**os.environ, "SOURCE_DATE_EPOCH": done.stdout.strip() or "1577836800"}


def hashed(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_sums() -> None:
    files = sorted(file for file in DIST.iterdir() if file.name != "SHA256SUMS")
    (DIST / "SHA256SUMS").write_text("".join(f"{hashed(file)}  {file.name}\n" for file in files))


# ── installing ────────────────────────────────────────────────────────────────────────────────────


def plain(version: str, python: str, scratch: Path) -> None:
    folder = scratch / f"plain-{version}"
    inside = environment(python, folder, [])
    before = megabytes(folder)
    install(inside, "assay-ir")
    size = megabytes(folder) - before
    if size >= MOST_MEGABYTES:
        sys.exit(
            f"Python {version}: a plain install takes {size:.0f} MB, allowed are {MOST_MEGABYTES}"
        )
    smoke(Path(inside), "", folder / "work")
    tell(
        f"Python {version}: plain install {size:.0f} MB (with pip {megabytes(folder):.0f}); "
        "scores, decides, reports; every missing extra is named"
    )
    shutil.rmtree(folder)


def alone(version: str, python: str, extra: str, scratch: Path) -> None:
    folder = scratch / f"{extra}-{version}"
    inside = environment(python, folder, [])
    install(inside, f"assay-ir[{extra}]")
    smoke(Path(inside), extra, folder / "work")
    tell(f"Python {version}: [{extra}] alone works, {megabytes(folder):.0f} MB")
    if extra == "all":
        write_bill(inside)
    shutil.rmtree(folder)


def lowest(version: str, python: str, extra: str, scratch: Path) -> None:
    """With the oldest version of each package that pyproject.toml names for this extra."""
    folder = scratch / f"lowest-{extra or 'plain'}-{version}"
    inside = environment(python, folder, [])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(needed(extras, extra) if extra else ())]
    bounds = [re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", one) for one in named]
    oldest = dict.fromkeys(f"{bound[1]}=={bound[2]}" for bound in bounds if bound)
    pins = folder / "oldest.txt"
    pins.write_text("\n".join(oldest))
    install(inside, f"assay-ir[{extra}]" if extra else "assay-ir", "--constraint", pins)
    smoke(Path(inside), extra, folder / "work")
    tell(f"Python {version}: {f'[{extra}]' if extra else 'plain install'} works with the oldest")
    shutil.rmtree(folder)


def needed(extras: dict[str, list[str]], extra: str) -> Iterator[str]:
    """The packages of an extra, and those of the extras that it names."""
    for one in extras[extra]:
        if inner := re.fullmatch(r"assay-ir\[(.+)\]", one):
            yield from chain(*(needed(extras, name) for name in inner[1].split(",")))
        else:
            yield one


def environment(python: str, folder: Path, packages: Sequence[str]) -> str:
    run([python, "-m", "venv", folder])
    inside = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    if packages:
        run([inside, *PIP, "install", *packages])
    return inside


def install(python: str, what: str, *options: object) -> None:
    """The wheels of dist/; all else from the package index."""
    wheel = next(DIST.glob("assay_ir-*.whl"))
    extra = what.removeprefix("assay-ir")
    run([python, *PIP, "install", *options, "--find-links", DIST, f"{wheel}{extra}"])


def write_bill(python: str) -> None:
    bill = subprocess.run(
        [python, ROOT / "tools" / "bill_of_materials.py"], check=True, capture_output=True
    )
    (DIST / "assay-ir.cdx.json").write_bytes(bill.stdout)
    write_sums()
    tell(
        f"bill of materials: {len(json.loads(bill.stdout)['components'])} packages beside assay-ir"
    )


def megabytes(folder: Path) -> float:
    """As du counts, in blocks; a file with two names counts once."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        if not path.is_symlink() and path.is_file():
            state = path.stat()
            seen[state.st_dev, state.st_ino] = (
                getattr(state, "st_blocks", state.st_size // 512 + 1) * 512
            )
    return sum(seen.values()) / 2**20


def run(command: Iterable[object], **options: object) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
