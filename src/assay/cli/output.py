"""Printing for the command line: data to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from assay.core.workspace import IN_START

if TYPE_CHECKING:
    from rich.console import Console

    from assay.core.types import Query

# Letters that move a cursor, colour a terminal, retitle its window or turn a line around.
_CONTROLS = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)|[ -/]*[0-~])?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


def printable(text: str) -> str:
    """A text for a terminal: escapes and other controls are taken out, lines and tabs stay."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub("", text)


_IN_JSON = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _escape_controls(written: bytes) -> bytes:
    """JSON for a terminal: the controls that JSON leaves as they are, escaped; the same values."""
    return _IN_JSON.sub(lambda one: f"\\u{ord(one[0]):04x}", written.decode()).encode()


Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]


def emit(answer: Any, render: Callable[[], Any], *, json: bool) -> None:
    """JSON for programs, a table for people."""
    if json:
        from assay.core.results_file import encode

        with _reader_may_leave():
            written = encode(answer)
            sys.stdout.buffer.write(_escape_controls(written) if sys.stdout.isatty() else written)
            sys.stdout.buffer.flush()
        return
    show(render())


def tell(answer: Any, sentence: str, *, json: bool, style: str = "dim") -> None:
    """Print the outcome of a command that has no data: JSON for programs, a sentence for people."""
    if json:
        emit(answer, lambda: "", json=True)
    else:
        say(sentence, style=style)


def put(text: str) -> None:
    """A text to stdout as it is: a path, a link, a page."""
    with _reader_may_leave():
        sys.stdout.write(f"{printable(text)}\n")
        sys.stdout.flush()


def show(renderable: Any) -> None:
    from io import StringIO

    # ids and texts are not markup
    console = _console()
    if console.is_terminal:
        console.print(renderable)
        return
    printed = StringIO()
    page = _console(width=120, file=printed)
    page.print(renderable)
    with _reader_may_leave():
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()))
        sys.stdout.flush()


def say(message: str, *, style: str = "dim") -> None:
    """Progress, warnings and errors to stderr."""
    _console(stderr=True).print(message, style=style, soft_wrap=True)


def is_in_start() -> bool:
    """Whether `assay start` runs this command, and itself says what comes next."""
    return bool(os.environ.get(IN_START))


def warn(message: str) -> None:
    """Print a warning to stderr."""
    say(message, style="yellow")


def _console(**options: Any) -> Console:
    """A terminal that no text can drive: what a title or a message says is taken as letters
    alone."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def render(self, *args: Any, **named: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*args, **named):
                yield Segment(text if control else printable(text), style, control)

        def on_broken_pipe(self) -> None:
            _discard_writes(self.file)

    return Plain(highlight=False, markup=False, emoji=False, **options)


def searching(queries: Iterable[Query]) -> Iterator[Query]:
    """The queries one by one, with a progress bar where somebody watches."""
    items = list(queries)
    with progress_bar() as tick:
        for done, query in enumerate(items):
            yield query
            tick("searching", done + 1, len(items))


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """tick(what, done, of): one bar a stage, on stderr, only on a terminal."""
    from rich.console import Console
    from rich.progress import Progress, TaskID

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def tick(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield tick


@contextlib.contextmanager
def _reader_may_leave() -> Iterator[None]:
    """The reader of a pipe may go away, as `| head` does: not an error, and what the command found
    out still decides its exit code."""
    try:
        yield
    except BrokenPipeError:
        _discard_writes(sys.stdout)


def _discard_writes(stream: IO[str]) -> None:
    """Discard further writes to a stream, so that nothing fails a second time."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
