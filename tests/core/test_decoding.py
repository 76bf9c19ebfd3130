"""Values are read as types by many threads at once, the first time too."""

from __future__ import annotations

import subprocess
import sys

# eight threads read a value as a type that none has read before, again and again
WORK = """
import sys, threading
import msgspec
from assay.core.decoding import thread_safe
sys.setswitchinterval(1e-6)
value = {"a": [], "b": {}, "c": {"a": [], "b": {}}}
wrong = []
for n in range(60):
    kind = int
    for depth in range(8):
        fields = [("a", list[kind]), ("b", dict[str, kind]), ("c", kind | None, None)]
        kind = msgspec.defstruct(f"Kind{n}_{depth}", fields)
    start = threading.Barrier(8)
    def read():
        start.wait()
        try:
            msgspec.convert(value, thread_safe(kind))
        except Exception as error:
            wrong.append(repr(error))
    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(wrong[:3])
"""


def test_the_first_values_of_a_type_may_be_read_at_once() -> None:
    """Without `thread_safe` this process ends with a segmentation fault."""
    ended = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr
