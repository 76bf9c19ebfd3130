"""Run parts of a computation on a Dask cluster. `--on tcp://HOST:PORT` names a scheduler that is
already running, `--on local:2` starts two processes on this machine.

    with cluster.on("tcp://10.0.0.5:8786"):
        ...

Inside, what is split into parts (`map_on_cluster`) and what runs as a job (`workers.run_jobs`) goes
to the workers; outside, it runs here. It is the same code on the same parts, and the answers come
back in the order of the parts, so that the results are the same. Work of a worker that is lost is
done again by another: that is Dask's own doing. Workers have the same packages and, where files are
read, the same files under the same names."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.extras import imported

Item = TypeVar("Item")
Key = TypeVar("Key")
Answer = TypeVar("Answer")
Call = tuple[Callable[..., Any], tuple[Any, ...]]

LOCAL = re.compile(r"local(?::(\d{1,3}))?")
PARTS = 4  # for each worker: few enough to be quick, enough to balance the load (taste)
SECONDS = 20  # to reach a scheduler (taste)
LOST = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError")
LARGE = {"distributed.admin.large-graph-warning-threshold": "1TB"}  # it is sent once, knowingly
_client: Any = None


@contextlib.contextmanager
def use_cluster(address: str) -> Iterator[None]:
    """Send work to the workers of this scheduler; without an address it stays in this process."""
    global _client
    if not address:
        yield
        return
    before = _client
    with _connected(address) as client:
        _client = client
        try:
            yield
        finally:
            _client = before


def is_on() -> bool:
    return _client is not None


def even_parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Split the items into as many even parts as the workers can use, in order; one part without a
    cluster."""
    if not is_on() or not items:
        return [items] if items else []
    number = min(len(items), max(1, PARTS * _workers()))
    bounds = [round(place * len(items) / number) for place in range(number + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]


def map_on_cluster(
    function: Callable[..., Answer], items: Iterable[tuple[Key, Item]], *shared: Any
) -> Iterator[tuple[Key, Answer]]:
    """(key, function(item, *shared)) in the order of the items."""
    if not is_on():
        for key, item in items:
            yield key, function(item, *shared)
        return
    keys, futures = [], []
    # as work too: what only lies on a worker is gone with it, and work is done again
    common = [_client.submit(_identity, each, pure=False) for each in shared]
    for key, item in items:
        keys.append(key)
        futures.append(_client.submit(function, item, *common, pure=False))
    try:
        for key, future in zip(keys, futures, strict=True):
            yield key, _result(future)
    finally:
        _client.cancel([*futures, *common])


def _identity(value: Item) -> Item:
    return value


def as_done(calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
    """(number, its future) of calls as each is done."""
    futures = [_client.submit(function, *given, pure=False) for function, given in calls]
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        for future in _distributed().as_completed(futures):
            yield numbers[future.key], future
    finally:
        _client.cancel(futures)


def _result(future: Any) -> Any:
    try:
        return future.result()
    except AssayError:
        raise
    except Exception as error:
        if type(error).__name__ in LOST:
            raise EngineError(f"the cluster lost the work: {error}") from error
        raise


def _workers() -> int:
    return len(_client.scheduler_info(n_workers=-1)["workers"])


def _distributed() -> Any:
    return imported("distributed", "a cluster", "cluster")


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    distributed = _distributed()
    local = LOCAL.fullmatch(address)
    if local is None and "://" not in address:
        raise InputError(
            f"--on {address!r} is not a scheduler",
            hint="Use tcp://HOST:PORT, or local:2 for two workers on this machine.",
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(imported("dask", "a cluster", "cluster").config.set(LARGE))
        try:
            if local is not None:
                number = int(local[1] or os.cpu_count() or 1)
                made = distributed.LocalCluster(
                    n_workers=max(number, 1),
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,  # a worker that stops last misses the scheduler
                )
                address = stack.enter_context(made).scheduler_address
            client = stack.enter_context(distributed.Client(address, timeout=SECONDS))
            client.wait_for_workers(1, timeout=SECONDS)
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise EngineError(f"no workers at {address}: {error}") from error
        yield client
