#!/usr/bin/env python3
"""The node after hop h of a chain has all K chunks after Σ cᵢ + (K − 1) · max cᵢ, cᵢ: time of a chunk on hop i. Real
processes over paced links of unequal rates, with UCX over shared memory and over TCP.

    tests/end_to_end/chain_times_test.py build/release/troupe --megabytes 500
"""
import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import cluster
import random_llama
from cluster import Cluster, ClusterTest
from processes import SLOWDOWN, eventually
from scaling_cluster import TASKS, parameters, scale

options = argparse.ArgumentParser()
options.add_argument("--megabytes", type=int, default=64)
options.add_argument("--runs", type=int, default=3)
ASKED, sys.argv[1:] = options.parse_known_args()

WITHIN = 0.1
RATES = {"first": 0.4, "second": 0.4, "third": 0.2, "fourth": 0.2}  # Gbit/s of 64 MB; longer for more
CHUNK_KB = 2048


def chains(model):
    links = "".join(f'[[link]]\nnodes = ["{n}"]\ngbit_per_s = {rate * ASKED.megabytes / 64 / SLOWDOWN}\n'
                    for n, rate in RATES.items())
    return f"""[[llm]]
name = "tasks"
model = "{model}"
nodes = {json.dumps(list(RATES))}
kv_mb = 8
instances = 1
[scaling]
park_s = 0.01
chunk_kb = {CHUNK_KB}
[links]
pace = true
[[link]]
nodes = ["head"]
gbit_per_s = 10
{links}"""


def events(up, name):
    """[(time, fields)] of a log's lines, in their order."""
    out = []
    for line in up.lines["stderr"]:
        found = re.match(rf"time=(\S+) level=\w+ event={name} (.*)", line)
        if found:
            out.append((datetime.fromisoformat(found[1]).timestamp(), dict(w.split("=", 1) for w in found[2].split())))
    return out


def formula(hops, byte_count, chunks):
    """Seconds until each node of a chain has all chunks, by the rates of its hops."""
    out, chunk_times = [], []
    for gbit_per_s in hops:
        chunk_times.append(byte_count / chunks * 8 / gbit_per_s / 1e9)
        out.append(sum(chunk_times) + (chunks - 1) * max(chunk_times))
    return out


class ChainTimes(ClusterTest):
    def measure(self, **environment):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "model")
            random_llama.make(model, TASKS / "base", ASKED.megabytes)
            with Cluster(workers=tuple(RATES), model_text=chains(model), env=environment) as c:
                up = c.start("--verbose")
                self.compare(*zip(*(self.one_chain(c, up) for _ in range(ASKED.runs))))

    def one_chain(self, c, up):
        """Scales to one instance on each node and back. ([seconds / by the formula] of each hop, [predicted / by the
        formula])"""
        (source,) = parameters(c)["copies"]
        for lines in up.lines.values():
            lines.clear()
        done = scale(c, len(RATES))
        (names,) = done["chains"]
        names = [n.split("@")[1] for n in names]
        self.assertTrue(eventually(lambda: len(events(up, "weights_complete")) == len(RATES) - 1))
        complete = {e["node"]: (at, float(e["seconds"])) for at, e in events(up, "weights_complete")}
        began = complete[names[1]][0] - complete[names[1]][1]
        took = [complete[n][0] - began for n in names[1:]]
        rate = {n: r * ASKED.megabytes / 64 / SLOWDOWN for n, r in RATES.items()}
        hops = [min(rate[a], rate[b]) for a, b in zip(names, names[1:])]
        expected = formula(hops, source["bytes"], source["chunks"])
        predicted = {n.split("@")[1]: s for n, s in done["predicted_s"].items()}
        (ordered, _), = events(up, "scale")
        first = began - ordered
        print(f"{' -> '.join(names)} ({source['chunks']} chunks, {hops} Gbit/s): {[round(t, 3) for t in took]} s, by the "
              f"formula {[round(t, 3) for t in expected]} s; first pull after {1e3 * first:.1f} ms", file=sys.stderr)
        scale(c, 1)
        self.assertTrue(eventually(lambda: len(parameters(c)["copies"]) == 1))
        time.sleep(0.2)
        return ([t / e for t, e in zip(took, expected)], [predicted[n] / e for n, e in zip(names[1:], expected)])

    def compare(self, measured, predicted):
        for kind, runs in (("measured", measured), ("predicted", predicted)):
            for hop, ratios in enumerate(zip(*runs), 1):
                self.assertLess(abs(statistics.median(ratios) - 1), WITHIN, f"hop {hop}, {kind} / formula: {ratios}")

    def test_over_shared_memory(self):
        self.measure()

    def test_over_tcp(self):
        self.measure(UCX_TLS="tcp,self")


if __name__ == "__main__":
    cluster.main()
