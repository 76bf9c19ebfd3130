"""Read the search space of a sweep, and list the settings to try: all combinations, or some drawn
at random.

A parameter has a list of values, or a range: `{ from = 0, to = 1, step = 0.25 }`; without a step
any number between, whole ones where both ends are whole, with `log = true` evenly by magnitude.

    [tune.prod]
    rrf_k = [10, 30, 60, 100]
    weight = { from = 0, to = 1, step = 0.25 }
    budget = 40

All other keys of the table are those of `TuneTable`; a parameter that has the name of one of them
stands in `[tune.prod.parameters]`."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.types import JsonObject
from assay.engines.engine_table import convert_table

KEYS = "See docs/tuning.md for the keys."
HINT = "Give a list such as [10, 30, 60], or a range such as { from = 0, to = 1, step = 0.25 }."
MOST_VALUES = 10_000  # of one parameter (taste)
TRIES = 50  # draws for each setting before a small space counts as exhausted (taste)

Search = Literal["", "grid", "random", "optuna"]


class TuneTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `[tune.NAME]` of assay.toml says, beside its parameters."""

    engine: str = ""  # the engine to tune; by default the one called NAME
    fuse: tuple[str, ...] = ()  # saved runs to fuse, in place of an engine
    gold: str = ""  # the gold set; by default the first
    measure: str = ""  # the measure that decides; by default that of the set
    search: Search = ""  # by default the grid where it fits the budget, else random
    budget: int = 40  # the most settings to try
    seed: int = 0  # of random settings
    max_p95_ms: float | None = None  # a slower setting cannot win
    max_cost: float | None = None  # a dearer setting cannot win
    # the price of one query: for each value of a parameter, or for one unit of it
    cost: dict[str, float | dict[str, float]] = {}
    current: JsonObject = {}  # what fused runs use now
    parameters: JsonObject = {}  # parameters whose names are keys of this table

    def cost_of(self, setting: Mapping[str, object]) -> float | None:
        """The price of one query with this setting; None without prices."""
        total = 0.0
        for name, price in self.cost.items():
            value = setting.get(name)
            if isinstance(price, dict):
                total += price.get(str(value), 0.0)
            elif isinstance(value, int | float):
                total += price * value
        return total if self.cost else None


def read_tune_tables(tables: object, file: Path) -> dict[str, TuneTable]:
    """Every `[tune.NAME]` of a file, with the paths of saved runs made absolute."""
    if not isinstance(tables, dict):
        raise InputError("expected tables [tune.NAME]", where=f"{file}: tune", hint=KEYS)
    return {name: _table(table, f"{file}: tune.{name}", file) for name, table in tables.items()}


def _table(table: object, where: str, file: Path) -> TuneTable:
    if not isinstance(table, dict):
        raise InputError("expected a table", where=where, hint=KEYS)
    own = {key: value for key, value in table.items() if key in TuneTable.__struct_fields__}
    read = convert_table(own, TuneTable, where)
    if not 1 <= read.budget <= MOST_VALUES:
        raise InputError(f"the budget must be from 1 to {MOST_VALUES:,}", where=f"{where}.budget")
    parameters = {key: table[key] for key in table if key not in own} | read.parameters
    if not parameters:
        raise InputError("there is no parameter to tune", where=where, hint=HINT)
    read_space(parameters, where)
    runs = tuple(str(file.resolve().parent / path) for path in read.fuse)
    return msgspec.structs.replace(read, parameters=parameters, fuse=runs)


class Range(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A range of numbers."""

    low: float = msgspec.field(name="from")
    high: float = msgspec.field(name="to")
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.step is not None and self.step <= 0):
            raise ValueError("a range goes up, in steps above 0")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("log is for a range above 0 without a step")
        if self.step is not None and (self.high - self.low) / self.step >= MOST_VALUES:
            raise ValueError("there are too many values: take larger steps")

    @property
    def whole(self) -> bool:
        return all(float(each).is_integer() for each in (self.low, self.high, self.step or 0))

    def number(self, value: float) -> float | int:
        return round(value) if self.whole else round(value, 12)

    def drawn(self, rng: random.Random) -> float | int:
        if self.log:
            return self.number(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        if self.whole:
            return rng.randint(int(self.low), int(self.high))
        return self.number(rng.uniform(self.low, self.high))


Values = tuple[Any, ...] | Range
Space = Mapping[str, Values]


def read_space(parameters: Mapping[str, object], where: str) -> dict[str, Values]:
    """The parameters of a table; a range with a step becomes its values."""
    return {name: _values(given, f"{where}.{name}") for name, given in parameters.items()}


def _values(given: object, where: str) -> Values:
    try:
        read = msgspec.convert(given, thread_safe(list[str | float | bool] | Range))
    except msgspec.ValidationError as error:
        problem = str(error).replace("`", "")
        if not isinstance(given, dict):
            problem = f"{given!r} is neither a list nor a range"
        raise InputError(problem, where=where, hint=HINT) from error
    if isinstance(read, Range):
        if read.step is None:
            return read
        count = math.floor((read.high - read.low) / read.step + 1e-9) + 1
        return tuple(read.number(read.low + at * read.step) for at in range(count))
    if not read:
        raise InputError("the list is empty", where=where, hint=HINT)
    return tuple(dict.fromkeys(given))  # type: ignore[call-overload]  # 10 stays a whole number


def size_of(space: Space) -> float:
    """The number of settings; infinite where a range has no step."""
    return math.prod(math.inf if isinstance(each, Range) else len(each) for each in space.values())


def draw_settings(space: Space, count: int, seed: int) -> list[JsonObject]:
    """Different settings at random; all combinations where there are no more."""
    if size_of(space) <= count:
        lists = [values for values in space.values() if isinstance(values, tuple)]
        return [dict(zip(space, each, strict=True)) for each in itertools.product(*lists)]
    rng = random.Random(seed)
    found: dict[tuple[object, ...], JsonObject] = {}
    for _ in range(count * TRIES):
        setting = {
            name: values.drawn(rng) if isinstance(values, Range) else rng.choice(values)
            for name, values in space.items()
        }
        found.setdefault(tuple(setting.values()), setting)
        if len(found) == count:
            break
    return list(found.values())
