"""One process with a time limit."""
from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time

END_S = 5  # for a process to end by itself after SIGTERM


@dataclasses.dataclass(frozen=True)
class Outcome:
    code: int | None  # nothing: it was ended at its limit
    output: str
    seconds: float


def run(command, limit_s, log, environment, folder):
    """Runs a command in a process group of its own; standard output and error go to the file `log`. Everything that it
    started is killed in the end."""
    begun = time.monotonic()
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=folder,
                                   env=environment, start_new_session=True)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                pass
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    with open(log, errors="replace") as file:
        return Outcome(code, file.read(), time.monotonic() - begun)
