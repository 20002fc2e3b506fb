"""Servers with all their processes: started, ended, and their costs."""
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "end_to_end"))
from processes import descendants  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
SECONDS_TO_START, SECONDS_TO_END = 120, 2  # a server's state is not needed any more


class Failed(Exception):
    """A side that does not start, answers wrong, or fails requests."""


def adopt_orphans():
    """Servers' processes that outlive their parents become children of this process."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lines_of(path):
    """None of a process that has ended."""
    with contextlib.suppress(OSError):
        return path.read_text().splitlines()
    return []


class Servers:
    """One side's servers; a context manager. Their processes are all descendants of this process that were not there
    before, so load generators must have ended when costs are read."""

    def __init__(self, commands, environment, log):
        self.commands, self.environment, self.log = commands, environment, log

    def __enter__(self):
        self.others = set(descendants(os.getpid()))
        with self.log.open("wb") as log:
            self.children = [subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                              stderr=subprocess.STDOUT, env={**os.environ, **self.environment})
                             for command in self.commands]
        return self

    def __exit__(self, *failure):
        for child in self.children:
            child.terminate()
        end = time.monotonic() + SECONDS_TO_END
        while remaining := self.processes():
            if time.monotonic() > end:
                for pid in remaining:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            self._reap(remaining)
            time.sleep(0.05)

    def _reap(self, pids):
        """Forgets children and orphans that have ended."""
        for child in self.children:
            child.poll()
        for pid in set(pids) - {child.pid for child in self.children}:
            with contextlib.suppress(ChildProcessError):  # a child of another process
                os.waitpid(pid, os.WNOHANG)

    def processes(self):
        return [pid for pid in descendants(os.getpid()) if pid not in self.others]

    def wait(self, ready):
        """Waits until ready() is true; an OSError means not yet."""
        end = time.monotonic() + SECONDS_TO_START
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            if time.monotonic() > end or any(child.poll() is not None for child in self.children):
                raise Failed("does not start")
            time.sleep(0.1)

    def last_words(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])

    def cpu_seconds(self):
        """Of all living threads, to the nanosecond."""
        stats = [lines_of(path) for pid in self.processes() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(lines[0].split()[0]) for lines in stats if lines) / 1e9

    def memory_mb(self):
        """A page of several processes counts once (PSS)."""
        lines = [line for pid in self.processes() for line in lines_of(Path(f"/proc/{pid}/smaps_rollup"))]
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
