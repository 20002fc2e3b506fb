#!/usr/bin/env python3
"""Pause of a stream whose keys and values are handed over, beside the time to compute them again.

    tests/end_to_end/handover_cost.py build/release/troupe [--positions 2000] [--megabytes 200] [--runs 5]

Two engines on two nodes of this machine serve a model with random weights. A sequence with so many positions is read
to its end: the time until its first token is what computing them takes. Then another one of the same length is moved in
the middle of its answer, and its longest pause counts. No token may be computed again.
"""
import argparse
import contextlib
import http.client
import json
import pathlib
import random
import statistics
import tempfile
import threading
import time

import processes
import random_llama
from cluster import Cluster
from fixtures import FIXTURES
from processes import PATIENCE, run

ANSWER = 60


def model_text(folder, positions):
    return f"""[[llm]]
name = "moving"
model = "{folder}"
nodes = ["first", "second"]
kv_mb = {64 + positions // 8}
prefix_cache = false
prefill_chunk = 512
"""


def stream(c, prompt, times):
    """Appends the arrival of each token."""
    body = {"model": "moving", "prompt": prompt, "max_tokens": ANSWER, "temperature": 0, "ignore_eos": True,
            "stream": True, "logprobs": 0}
    connection = http.client.HTTPConnection("127.0.0.1", c.http_port, timeout=10 * PATIENCE)
    with contextlib.closing(connection):
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        for line in response:
            if line.startswith(b"data: {"):
                assert b'"error"' not in line, line
                times.append(time.monotonic())


def totals(c):
    engines = [c.asked(f"llm_engine/{i}", "get_state") for i in range(2)]
    return {k: sum(e[k] for e in engines) for k in ("computed_tokens", "kv_bytes_pulled", "kv_pulls_failed")}


def measure(c, prompt):
    """(seconds until the first token, longest pause without a move, with one, bytes pulled)"""
    began, still = time.monotonic(), []
    stream(c, prompt, still)
    times, before = [], totals(c)
    reader = threading.Thread(target=stream, args=(c, prompt[::-1], times))
    reader.start()
    while len(times) < ANSWER // 3:
        time.sleep(0.01)
    (generation,) = c.asked("llm_router/0", "list_generations", limit=1, after=0)["generations"]
    code, _, err = run("migrate", c.file, generation["request"], "--engine", 1 - generation["engine"])
    assert code == 0, err
    reader.join()
    done = {k: v - before[k] for k, v in totals(c).items()}
    assert done["kv_pulls_failed"] == 0 and done["kv_bytes_pulled"] > 0, done
    assert done["computed_tokens"] == len(prompt) + ANSWER - 1, done

    def longest(moments):
        return max(b - a for a, b in zip(moments, moments[1:]))
    return still[0] - began, longest(still), longest(times), done["kv_bytes_pulled"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    processes.PROGRAM = options.program
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "model"
        random_llama.make(folder, FIXTURES.parent / "llama-tasks" / "base", options.megabytes)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": options.positions + 100}))
        with Cluster(workers=("first", "second"), device='kind = "cpu"',
                     model_text=model_text(folder, options.positions)) as c:
            c.start()
            runs = []
            for _ in range(options.runs):
                runs.append(measure(c, [chance.randrange(3, 300) for _ in range(options.positions)]))
                computed, still, moved, pulled = runs[-1]
                print(f"computed in {computed * 1e3:.0f} ms; longest pause {still * 1e3:.1f} ms, "
                      f"{moved * 1e3:.1f} ms with a move of {pulled / 1e6:.1f} MB", flush=True)
    computed, still, moved = (statistics.median(r[i] for r in runs) for i in range(3))
    print(f"median of {options.runs}: {computed * 1e3:.0f} ms to compute {options.positions} positions, pauses of "
          f"{still * 1e3:.1f} ms without and {moved * 1e3:.1f} ms with a move: {computed / moved:.0f} times less")


if __name__ == "__main__":
    main()
