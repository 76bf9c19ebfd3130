"""How long a judge waits for the machine: `assay demo --serve` in a process of its own, a real
Chromium, and every judgment by keyboard (a digit, the first criterion as the reason, Enter).

    python benchmarks/judging_time.py [--judgments 40]

For each judgment it measures the time from the first key until the next document can be read, from
the last key until the server has the vote on disk, and the processor time of the server. Nobody
thinks in between, so all of it is machine time."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-sync", "--no-first-run"]
TICK = os.sysconf("SC_CLK_TCK")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "assay", "demo", "--serve", "--port", str(port)]
    server = subprocess.Popen([*command, "--folder", str(folder)], stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{base}/me", timeout=5).close()
                break
            except OSError:
                time.sleep(0.25)
        yield base, server.pid
    finally:
        server.terminate()
        server.wait(20)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def judge(page: Any, times: int) -> tuple[list[float], list[float]]:
    """Seconds until the next document is there, and until the vote is on disk."""
    shown, saved = [], []
    page.keyboard.press("j")
    page.wait_for_url("**/judge/opinions/*")
    while len(shown) < times:
        page.wait_for_selector("#document[aria-busy=false]")
        here = page.locator(".doc.cur").get_attribute("data-doc")
        began = time.perf_counter()
        for key in ("1", "Alt+1", "Enter"):
            page.keyboard.press(key)
        pressed = time.perf_counter()
        page.wait_for_selector(f'.doc[data-doc="{here}"]:not(.gq), #done:not([hidden])')
        page.wait_for_selector("#document[aria-busy=false]")
        shown.append(time.perf_counter() - began)
        while page.evaluate("votes.waiting().length"):
            pass
        saved.append(time.perf_counter() - pressed)
        if page.locator("#done").is_visible():
            page.keyboard.press("n")
            page.wait_for_load_state()
            if page.url.endswith("/judge/opinions"):
                page.keyboard.press("j")
            page.wait_for_url("**/judge/opinions/*")
    return shown, saved


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=40)
    wanted = parser.parse_args().judgments
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "demo") as (base, pid),
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        page = browser.new_page(base_url=base, locale="en")
        page.goto("/me")
        page.fill("input[name=name]", "Somebody new")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{base}/")
        page.goto("/judge/opinions")
        before = processor_seconds(pid)
        shown, saved = judge(page, wanted)
        spent = (processor_seconds(pid) - before) / len(shown)
        browser.close()
    for name, values in (("next document", shown), ("vote on disk", saved)):
        p95 = statistics.quantiles(values, n=20)[-1]
        middle, worst = statistics.median(values), max(values)
        print(f"{name}: p50 {middle:.3f} s, p95 {p95:.3f} s, worst {worst:.3f} s")  # noqa: T201
    print(f"server: {spent:.3f} s of processor time a judgment")  # noqa: T201


if __name__ == "__main__":
    main()
