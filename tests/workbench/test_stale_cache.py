"""Values kept until their files change: who waits, who does not, and what happens when it fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assay.core.errors import InputError
from assay.workbench.judging import agreement
from assay.workbench.judging.agreement import StaleCache

WAIT = 10.0  # seconds, so that a test that fails ends


class Made:
    """What is computed, one value after the other; `held` keeps it waiting."""

    def __init__(self) -> None:
        self.calls = 0
        self.held = threading.Event()
        self.held.set()
        self.fails = False

    def __call__(self, key: str) -> str:
        self.calls += 1
        assert self.held.wait(WAIT)
        if self.fails:
            raise InputError(f"{key} cannot be read")
        return f"{key}{self.calls}"


class Values:
    """Kept values that one function makes."""

    def __init__(self, made: Made) -> None:
        self._made, self._kept = made, StaleCache[str, str]()

    def get(self, key: str, state: int) -> str:
        return self._kept.get(key, state, lambda: self._made(key))


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything takes longer than a reader may wait, and may be computed again at once."""
    monkeypatch.setattr(agreement, "QUICK", -1.0)
    monkeypatch.setattr(agreement, "PATIENCE", 0)


@contextmanager
def behind() -> Iterator[None]:
    """At the end what was started in between is done."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(WAIT)


def test_a_value_is_made_once_for_a_state(made: Made) -> None:
    values = Values(made)
    assert [values.get("a", 1), values.get("a", 1), values.get("b", 1)] == ["a1", "a1", "b2"]
    assert made.calls == 2


def test_what_is_quick_is_new_at_once(made: Made) -> None:
    values = Values(made)
    assert [values.get("a", 1), values.get("a", 2), values.get("a", 2)] == ["a1", "a2", "a2"]


@pytest.mark.usefixtures("slow")
def test_what_takes_long_is_made_behind(made: Made) -> None:
    values = Values(made)
    assert values.get("a", 1) == "a1", "the first reader waits: there is nothing else to show"
    with behind():
        made.held.clear()
        assert values.get("a", 2) == "a1", "a moment old, and nobody waits"
        assert values.get("a", 3) == "a1", "one at a time, also when it changes meanwhile"
        made.held.set()
    assert (values.get("a", 2), made.calls) == ("a2", 2)


def test_what_took_long_is_not_made_again_and_again(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "QUICK", -1.0)
    monkeypatch.setattr(agreement, "PATIENCE", 1e12)
    values = Values(made)
    values.get("a", 1)
    with behind():
        values.get("a", 2)
    assert (values.get("a", 2), made.calls) == ("a1", 1)


@pytest.mark.usefixtures("slow")
def test_a_failure_behind_is_told_to_the_next_reader(made: Made) -> None:
    values = Values(made)
    values.get("a", 1)
    made.fails = True
    with behind():
        values.get("a", 2)
    with pytest.raises(InputError, match="a cannot be read"):
        values.get("a", 2)
    made.fails = False
    assert values.get("a", 2) == "a4", "and it is tried anew"


def test_two_readers_at_once_make_one_value(made: Made) -> None:
    values = Values(made)
    made.held.clear()
    read: list[str] = []
    readers = [threading.Thread(target=lambda: read.append(values.get("a", 1))) for _ in range(2)]
    for reader in readers:
        reader.start()
    made.held.set()
    for reader in readers:
        reader.join(WAIT)
    assert (read, made.calls) == (["a1", "a1"], 1)
