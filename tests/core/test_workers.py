"""Jobs in processes of their own: what becomes of the answer, and of the process, in each case."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import worker_jobs

from assay.core.errors import InputError
from assay.core.workers import Failure, Job, run_jobs


def run_all(*jobs: Job[Any], fresh: bool = False) -> list[Any]:
    """The answers in the order of the jobs."""
    with closing(run_jobs(jobs, at_once=2, fresh=fresh)) as answers:
        return [answer for _, answer in sorted(answers, key=lambda pair: pair[0])]


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.05)


def is_running(process_id: int) -> bool:
    """Processes that ended and wait to be collected do not count."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("fresh", [False, True])
def test_every_job_has_an_answer_or_a_failure_of_its_own(fresh: bool) -> None:
    jobs = [
        Job(worker_jobs.add, (1, 2)),
        Job(worker_jobs.raises),
        Job(worker_jobs.exits),
        Job(worker_jobs.exits_at_once),
        Job(worker_jobs.is_killed),
        Job(worker_jobs.hangs, (), 1.0),
        Job(worker_jobs.answers_what_cannot_travel),
        Job(worker_jobs.large, (3_000_000,)),
    ]
    answers = run_all(*jobs, fresh=fresh)
    kinds = [answer.kind for answer in answers if isinstance(answer, Failure)]
    assert (answers[0], len(answers[-1])) == (3, 3_000_000)
    assert kinds == ["raised", "ended", "ended", "ended", "late", "raised"]
    assert answers[1].message == "ValueError: no good"
    assert answers[3].message == "its process ended with status 5"
    assert answers[4].message == "its process ended with signal 9"
    assert answers[5].message == "not done after 1 s"


def test_an_error_of_ours_comes_as_it_was_raised() -> None:
    (failure,) = run_all(Job(worker_jobs.refuses))
    assert isinstance(failure.error, InputError)
    assert (failure.error.message, failure.error.where) == ("not a record", "source.json:3")
    assert str(failure.error) == "source.json:3: not a record\n  Write one."


def test_a_worker_takes_several_jobs_and_a_fresh_one_takes_one() -> None:
    jobs = [Job(worker_jobs.process_id) for _ in range(6)]
    assert len(set(run_all(*jobs))) <= 2
    assert len(set(run_all(*jobs, fresh=True))) == 6


def test_what_a_job_prints_and_reads_is_not_the_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    answers = run_all(Job(worker_jobs.prints_and_reads), Job(worker_jobs.add, (2, 2)))
    assert answers == ["", 4]
    assert capfd.readouterr() == ("", "this is no answer\n")


def test_a_late_job_goes_with_what_it_started(tmp_path: Path) -> None:
    note = tmp_path / "note"
    (failure,) = run_all(Job(worker_jobs.hangs, (str(note),), 3.0))
    assert failure.kind == "late"
    for process_id in map(int, note.read_text().split()):
        until(lambda process_id=process_id: not is_running(process_id))


@pytest.mark.parametrize("fresh", [False, True])
def test_what_a_job_leaves_behind_goes_with_its_worker(tmp_path: Path, fresh: bool) -> None:
    note = tmp_path / "note"
    jobs = [Job(worker_jobs.leaves_behind), Job(worker_jobs.leaves_behind, (str(note),))]
    left, failure = run_all(*jobs, fresh=fresh)
    assert failure.message == "its process ended with status 6"
    for process_id in (left, int(note.read_text())):
        until(lambda process_id=process_id: not is_running(process_id))


def test_a_worker_that_is_used_again_keeps_what_a_job_started() -> None:
    with closing(run_jobs([Job(worker_jobs.leaves_behind)] * 2, at_once=1)) as answers:
        _, first = next(answers)
        _, second = next(answers)
        assert all(map(is_running, (first, second)))


def test_who_stops_asking_stops_the_jobs(tmp_path: Path) -> None:
    note = tmp_path / "note"
    jobs = [Job(worker_jobs.hangs, (str(note),)), Job(worker_jobs.add, (1, 1))]
    with closing(run_jobs(jobs, at_once=2)) as answers:
        assert next(answers) == (1, 2)
        until(note.exists)
    assert not any(map(is_running, map(int, note.read_text().split())))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_go_with_the_command_however_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    """The script has no `if __name__ == "__main__"`, and threads of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, threading, time
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            import worker_jobs
            from assay.core.workers import Job, run_jobs
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
            print("begun", flush=True)
            for answer in run_jobs([Job(worker_jobs.hangs, ("note",))], at_once=1):
                print(answer)
            """
        )
    )
    command = subprocess.Popen(
        [sys.executable, str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with command:
        until((tmp_path / "note").exists)
        command.send_signal(how)
        printed, _ = command.communicate(timeout=30)
    assert printed == "begun\n"
    for process_id in map(int, (tmp_path / "note").read_text().split()):
        until(lambda process_id=process_id: not is_running(process_id))
