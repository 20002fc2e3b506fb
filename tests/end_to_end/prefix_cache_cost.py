#!/usr/bin/env python3
"""Cost of the prefix cache where nothing is shared: tokens/s with and without it, in turns.

    tests/end_to_end/prefix_cache_cost.py build/release/troupe [--pairs 11]

Both clusters serve the same small model on a CPU. Every prompt is new. The ratio of a pair is with / without; the
goal is 0.99 in the median.
"""
import argparse
import concurrent.futures
import json
import random
import statistics
import time

import processes
from cluster import Cluster
from fixtures import FIXTURES

TASKS = FIXTURES.parent / "llama-tasks"
CLIENTS, PROMPT, ANSWER = 8, 240, 32


def model(prefix_cache):
    return f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
kv_mb = 16
max_sequences = 16
prefix_cache = {json.dumps(prefix_cache)}
"""


def tokens_per_s(c, requests, chance):
    """Tokens of prompts and answers, by the clock of the clients."""
    bodies = [json.dumps({"model": "tasks", "prompt": [chance.randrange(3, 300) for _ in range(PROMPT)],
                          "max_tokens": ANSWER, "temperature": 0, "ignore_eos": True}) for _ in range(requests)]

    def ask(body):
        status, text = c.post("/v1/completions", body)
        assert status == 200, text
        return json.loads(text)["usage"]["total_tokens"]

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        began = time.monotonic()
        return sum(clients.map(ask, bodies)) / (time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--requests", type=int, default=200, help="of each turn")
    options = parser.parse_args()
    processes.PROGRAM = options.program
    chance = random.Random(1)
    with Cluster(model_text=model(True)) as cached, Cluster(model_text=model(False)) as plain:
        for c in (cached, plain):
            c.start()
            tokens_per_s(c, options.requests, chance)  # warm
        ratios = []
        for i in range(options.pairs):
            sides = [cached, plain] if i % 2 == 0 else [plain, cached]
            rate = {c: tokens_per_s(c, options.requests, chance) for c in sides}
            ratios.append(rate[cached] / rate[plain])
            print(f"with {rate[cached]:.0f} tokens/s, without {rate[plain]:.0f}: {ratios[-1]:.3f}", flush=True)
        hits = cached.asked("llm_engine/0", "get_state")["cache_hits"]
    print(f"median of {options.pairs} pairs {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}; "
          f"{hits} tokens were cached")


if __name__ == "__main__":
    main()
