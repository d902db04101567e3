"""Threads, forks and signals: the library in another program's process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support import logs, samples

import deltareplay as dr

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")


def run(code: str, *arguments: str, timeout: float = 120) -> str:
    """Run a script in a new interpreter; return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@linux
def test_import_and_opening_start_no_thread(events: logs.LogBuilder) -> None:
    code = """
        import os, sys
        import pyarrow  # has threads of its own
        before = len(os.listdir("/proc/self/task"))
        import deltareplay
        deltareplay.Table(sys.argv[1])
        print(len(os.listdir("/proc/self/task")) - before)
    """
    assert run(code, events.uri).strip() == "0"


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Create a log whose replay takes a noticeable part of a second."""
    root = tmp_path_factory.mktemp("long")
    return samples.many_files(root, commits=40, files=10_000, distinct=2).uri


def test_other_threads_continue(long_log: str) -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    def ticks_in_a_call() -> int:
        start = time.perf_counter()
        files = snapshot.files(columns=["path", "stats_parsed"])
        end = time.perf_counter()
        assert files.num_rows == 20_000
        assert end - start > 0.05, "the call is too short to observe: make the log longer"
        margin = (end - start) * 0.1
        return sum(start + margin < timestamp < end - margin for timestamp in ticks)

    snapshot = dr.Table(long_log).snapshot()
    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        time.sleep(0.05)
        # a busy machine may not run the thread in each
        assert any(ticks_in_a_call() >= 5 for _ in range(10))
    finally:
        done.set()
        ticker.join()


def test_threads_share_a_snapshot(events: logs.LogBuilder) -> None:
    snapshot = dr.Table(events.uri).snapshot()
    result: list[int] = []

    def read() -> None:
        for _ in range(20):
            result.append(snapshot.files().num_rows + snapshot.update().num_files)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [4] * 80


def test_ctrl_c_stops_a_long_replay(tmp_path: Path) -> None:
    log = samples.many_files(tmp_path, commits=200, files=30_000)
    code = """
        import os, signal, sys, threading
        import deltareplay

        snapshot = deltareplay.Table(sys.argv[1]).snapshot()
        reports = []

        def report(progress):
            if not reports:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            reports.append(progress)

        try:
            with deltareplay.progress(report):
                snapshot.files(columns=["path", "stats"])
        except KeyboardInterrupt:
            print(reports[-1].fraction)
        else:
            print("not stopped")
        # the library works after an interrupt
        assert deltareplay.Table(sys.argv[1]).snapshot(version=0).num_files == 0
    """
    assert float(run(code, log.uri)) < 0.5, "the replay went on after the interrupt"


def test_exceptions_of_a_signal_handler_propagate(tmp_path: Path) -> None:
    log = samples.many_files(tmp_path, commits=200, files=30_000)
    code = """
        import signal, sys
        import deltareplay

        class TimeIsUp(Exception):
            pass

        def handler(number, frame):
            raise TimeIsUp

        snapshot = deltareplay.Table(sys.argv[1]).snapshot()
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            snapshot.files(columns=["path", "stats"])
        except TimeIsUp:
            print("TimeIsUp")
    """
    assert run(code, log.uri).strip() == "TimeIsUp"


def test_exceptions_of_a_signal_handler_at_the_end_of_a_call_propagate(tmp_path: Path) -> None:
    log = samples.many_files(tmp_path, commits=3, files=10)
    code = """
        import os, signal, sys
        import deltareplay
        from deltareplay._support import log as _log

        class TimeIsUp(Exception):
            pass

        def handler(number, frame):
            raise TimeIsUp

        def transferred(seconds, listed, read):
            os.kill(os.getpid(), signal.SIGALRM)

        signal.signal(signal.SIGALRM, handler)
        table = deltareplay.Table(sys.argv[1])
        _log.transferred = transferred
        try:
            table.snapshot()
        except TimeIsUp:
            print("TimeIsUp")
    """
    assert run(code, log.uri).strip() == "TimeIsUp"


def test_ctrl_c_stops_a_stream(tmp_path: Path) -> None:
    log = samples.many_files(tmp_path, commits=200, files=30_000)
    code = """
        import os, signal, sys, threading
        import deltareplay

        reader = deltareplay.Table(sys.argv[1]).actions(0)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            for _ in reader:
                pass
        except KeyboardInterrupt:
            print("stopped")
    """
    assert run(code, log.uri).strip() == "stopped"


def read_all(uri: str) -> int:
    """Read all rows, as a worker does."""
    snapshot = dr.Table(uri).snapshot()
    return snapshot.files().num_rows + snapshot.file_batches().read_all().num_rows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_reads_what_its_parent_has_read(events: logs.LogBuilder) -> None:
    events.checkpoint(version=1, kind="multipart")
    snapshot = dr.Table(events.uri).snapshot()
    reader = snapshot.file_batches()
    assert read_all(events.uri) == 4  # starts the parent's threads

    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(30)
            is_readable = read_all(events.uri) == 4
            is_shared = snapshot.files().num_rows == snapshot.update().num_files == 2
            code = 0 if is_readable and is_shared else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert reader.read_all().num_rows == 2
    assert read_all(events.uri) == 4


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_pools_of_workers(events: logs.LogBuilder, method: str) -> None:
    assert read_all(events.uri) == 4
    table = dr.Table(events.uri)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(read_all, [events.uri] * 4) == [4] * 4
        version: Any = pool.apply(_version, (table.snapshot(),))
    assert version == 2


def _version(snapshot: dr.Snapshot) -> int:
    return snapshot.version


def test_an_error_of_a_worker_keeps_its_class(tmp_path: Path) -> None:
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(dr.TableNotFoundError) as caught,
    ):
        pool.apply(read_all, (str(tmp_path),))
    assert caught.value.code == "table.not_found"


def test_the_interpreter_exits_cleanly(long_log: str) -> None:
    code = """
        import sys, threading
        import deltareplay

        reader = deltareplay.Table(sys.argv[1]).snapshot().file_batches()
        reader.read_next_batch()
        table = deltareplay.Table(sys.argv[1])
        threading.Thread(target=table.snapshot().files, daemon=True).start()
        print("done")
    """
    assert run(code, long_log).strip() == "done"
