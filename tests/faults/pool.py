"""Sends broken tables to workers, with a timeout."""

from __future__ import annotations

import json
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

WORKER = Path(__file__).with_name("worker.py")
TIMEOUT_S = 20
MEMORY = 1 << 30

Job = TypeVar("Job")


class Worker:
    """A process that reads tables; restarted if one of them kills it, or makes it hang or grow."""

    def __init__(self, script: Path = WORKER, timeout: float = TIMEOUT_S) -> None:
        self.script = script
        self.timeout = timeout
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: str) -> dict[str, Any]:
        """Return the worker's response; ``{"untyped": ...}`` if it hangs, dies or grows."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], self.timeout)
        if not ready:
            self.close()
            return {"untyped": f"no answer in {self.timeout} seconds"}
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.close()
            return {"untyped": f"the process died with {code}"}
        result: dict[str, Any] = json.loads(line)
        if result["resident"] > MEMORY:
            self.close()
            return {"untyped": f"{result['resident'] >> 20} MiB were resident"}
        return result

    def close(self) -> None:
        """Kill the process, whatever it is doing."""
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            with process:  # closes its pipes and waits for it
                pass

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, str(self.script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self.process


def run_jobs(
    jobs: Iterable[Job],
    work: Callable[[Worker, int, Job], str | None],
    workers: int = 2,
    make: Callable[[], Worker] = Worker,
) -> list[str]:
    """Run the jobs in ``workers`` threads with a process each; return the failures.

    ``work`` gets the process, the number of its thread and the job; it returns the failure, if any.
    """
    waiting: queue.Queue[Job] = queue.Queue()
    for job in jobs:
        waiting.put(job)
    failures: list[str] = []

    def run(number: int) -> None:
        worker = make()
        try:
            while True:
                failure = work(worker, number, waiting.get_nowait())
                if failure:
                    failures.append(failure)
        except queue.Empty:
            pass
        except BaseException as error:
            failures.append(f"the test itself failed: {error!r}")
            raise
        finally:
            worker.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures
