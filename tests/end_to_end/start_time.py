#!/usr/bin/env python3
"""Time from the start of a process to the first token of a checkpoint in the page cache.

    tests/end_to_end/start_time.py build/release/troupe [--model FOLDER] [--runs 7]
"""
import argparse
import http.client
import json
import os
import statistics
import time
from pathlib import Path

TASKS = Path(__file__).resolve().parents[1] / "fixtures/llama-tasks/base"


def asked():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("program")
    options.add_argument("--model", type=Path, default=TASKS)
    options.add_argument("--runs", type=int, default=7)
    return options.parse_args()


def main():
    options = asked()
    os.environ["TROUPE_PROGRAM"] = options.program
    import processes  # reads it

    def milliseconds():
        port, = processes.free_ports(1)
        began = time.monotonic()
        p = processes.Process("serve", str(options.model), "--port", str(port))
        p.wait_line("troupe: ready")
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=processes.PATIENCE)
        client.request("POST", "/v1/completions", json.dumps({"model": options.model.name, "prompt": "a", "max_tokens": 1}))
        answer = client.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        took = time.monotonic() - began
        client.close()
        assert p.terminate() == 0, p.output()
        return took * 1e3

    times = [milliseconds() for _ in range(options.runs)]
    print(f"{options.model.name}: first token {statistics.median(times):.0f} ms after the start of the process, in the median of "
          f"{options.runs} ({min(times):.0f} to {max(times):.0f} ms)")


if __name__ == "__main__":
    main()
