#!/usr/bin/env python3
"""The cost of a chain of weights to requests on the same nodes: heartbeats, the time per output token of running streams, and
CPU time by thread. Phases with a chain and without one take turns, in an order that changes from pair to pair; the medians
over the pairs are compared.

    tests/end_to_end/chain_cost.py build/release/troupe --gbit-per-s 2 --megabytes 500 --pairs 7

Two clients read streams from the one instance of a small model, while a large one gets two more instances. With `--busy N`,
N processes of the usual priority want a core each all the time: then only the end of the chain is checked, and how long it
takes.
"""
import argparse
import collections
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import processes
import random_llama
from cluster import Cluster
from low_load_cost import cpu_of_threads
from processes import PATIENCE, eventually, run
from scaling_cluster import TASKS, WORKERS

TOKENS = 100
LONGEST = 10.0  # seconds: of a heartbeat in the last bucket
HEARTBEAT_MS = 10  # so that a phase of seconds has hundreds

Request = collections.namedtuple("Request", "began ended per_token")
Phase = collections.namedtuple("Phase", "seconds cpu per_token heartbeats")


def cluster_of(large, gbit_per_s):
    limits = f"node_timeout_ms = 20000\nheartbeat_ms = {HEARTBEAT_MS}"
    return Cluster(workers=WORKERS, limits=limits, model_text=f"""[[llm]]
name = "small"
model = "{TASKS / 'base'}"
nodes = ["first"]
kv_mb = 8
[[llm]]
name = "large"
model = "{large}"
nodes = {json.dumps(WORKERS)}
kv_mb = 8
instances = 1
[scaling]
park_s = 0.01
[links]
pace = true
[[link]]
nodes = {json.dumps(["head", *WORKERS])}
gbit_per_s = {gbit_per_s}
""")


class Reader(threading.Thread):
    """Reads one stream after another; keeps when each began and ended, and its time per output token."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.seed = port, seed
        self.over = threading.Event()
        self.requests = []

    def run(self):
        while not self.over.is_set():
            self.requests.append(self.read())

    def read(self):
        body = {"model": "small", "prompt": f"abc{self.seed}=", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 1,
                "seed": self.seed, "stream": True}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        began, first = time.monotonic(), None
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        for line in connection.getresponse():
            if line.startswith(b"data: {") and first is None:
                first = time.monotonic()
        ended = time.monotonic()
        connection.close()
        return Request(began, ended, (ended - first) / (TOKENS - 1))


class Measure:
    def __init__(self, c, up):
        self.cluster = c
        self.pids = [up.pid_of(n) for n in ("head", *WORKERS)]
        self.readers = [Reader(c.http_port, seed) for seed in (1, 2)]
        for r in self.readers:
            r.start()

    def heartbeats(self):
        """Counts of the gateway's heartbeats by the upper bound of their round trip in seconds."""
        code, text = self.cluster.get("/metrics")
        assert code == 200, text
        up_to = {float(bound): int(count)
                 for bound, count in re.findall(r'^troupe_heartbeat_seconds_bucket\{.*?le="([^"]+)"\} (\d+)', text, re.M)}
        counts, before = collections.Counter(), 0
        for bound in sorted(up_to):
            counts[min(bound, LONGEST)] += up_to[bound] - before
            before = up_to[bound]
        return counts

    def phase(self, action):
        cpu, heartbeats, began = cpu_of_threads(self.pids), self.heartbeats(), time.monotonic()
        action()
        ended, later = time.monotonic(), self.heartbeats()
        spent = cpu_of_threads(self.pids)
        inside = [q.per_token for r in self.readers for q in list(r.requests) if q.began >= began and q.ended <= ended]
        return Phase(ended - began, spent - cpu, inside, later - heartbeats)


def scale(c, instances):
    code, out, err = run("scale", c.file, "large", "--instances", instances, "--json", "--wait", PATIENCE)
    assert code == 0, out + err
    return json.loads(out)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def p99_of_counts(counts):
    """Interpolated inside the bucket, as Prometheus does."""
    wanted, below, seen = 0.99 * sum(counts.values()), 0.0, 0
    for bound in sorted(counts):
        if seen + counts[bound] >= wanted:
            return below + (bound - below) * (wanted - seen) / counts[bound]
        below, seen = bound, seen + counts[bound]
    raise AssertionError(counts)


class Busy:
    """Processes of the usual priority that want a core each."""

    def __init__(self, count):
        self.all = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()
            p.wait()


def measure(asked, folder):
    """Pairs of phases, with a chain and without one, and the bytes pulled by a chain."""
    large = Path(folder, "large")
    random_llama.make(large, TASKS / "base", asked.megabytes)
    with cluster_of(large, asked.gbit_per_s) as c, Busy(asked.busy):
        m = Measure(c, c.start())
        pairs, pulled, seconds = [], 0, None

        def chain():
            nonlocal pulled
            done = {}
            phase = m.phase(lambda: done.update(scale(c, 3)))
            pulled = done["pulled_bytes"]
            scale(c, 1)
            assert eventually(lambda: len(json.loads(run("parameters", c.file, "large", "--json")[1])["copies"]) == 1)
            return phase

        for i in range(asked.pairs + 1):  # the first pair warms up
            without = m.phase(lambda: time.sleep(seconds)) if i % 2 == 1 else None
            beside = chain()
            seconds = beside.seconds
            pairs.append((beside, without or m.phase(lambda: time.sleep(seconds))))
        for r in m.readers:
            r.over.set()
        return pairs[1:], pulled


def spread(values):
    return f"{statistics.median(values):.2f} x ({min(values):.2f} to {max(values):.2f})"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", nargs="?", default=processes.PROGRAM)
    options.add_argument("--gbit-per-s", type=float, default=2)
    options.add_argument("--megabytes", type=int, default=500)
    options.add_argument("--pairs", type=int, default=7)
    options.add_argument("--busy", type=int, default=0, help="processes that want a core each")
    asked = options.parse_args()
    processes.PROGRAM = asked.program
    with tempfile.TemporaryDirectory() as folder:
        pairs, pulled = measure(asked, folder)
    chains, idles = zip(*pairs)
    median, gigabytes = statistics.median, pulled / 1e9
    tpot = [quantile(a.per_token, 0.99) / quantile(b.per_token, 0.99) for a, b in pairs]
    beats = [p99_of_counts(a.heartbeats) / p99_of_counts(b.heartbeats) for a, b in pairs]
    print(f"chain: {median(p.seconds for p in chains):.2f} s for {gigabytes:.2f} GB on two hops, "
          f"{max(p.seconds for p in chains):.2f} s at most")
    print(f"time per output token, p99 of {median(len(p.per_token) for p in chains):.0f} streams: "
          f"{1e3 * median(quantile(p.per_token, .99) for p in chains):.2f} ms beside the chain, "
          f"{1e3 * median(quantile(p.per_token, .99) for p in idles):.2f} ms without: {spread(tpot)}")
    print(f"heartbeats, p99 of {median(p.heartbeats.total() for p in chains):.0f}: "
          f"{1e3 * median(p99_of_counts(p.heartbeats) for p in chains):.2f} ms beside the chain, "
          f"{1e3 * median(p99_of_counts(p.heartbeats) for p in idles):.2f} ms without: {spread(beats)}")
    more = {name: median((a.cpu[name] / a.seconds - b.cpu[name] / b.seconds) * a.seconds / gigabytes for a, b in pairs)
            for name in set().union(*(p.cpu for p in chains))}
    total = median((a.cpu.total() / a.seconds - b.cpu.total() / b.seconds) * a.seconds / gigabytes for a, b in pairs)
    threads = sorted(more.items(), key=lambda m: -m[1])[:4]
    print(f"CPU time of the chain: {total:.2f} s per GB pulled; most of it on the threads "
          + ", ".join(f"{name} ({seconds:.2f})" for name, seconds in threads))
    return 0 if asked.busy or (median(tpot) < 1.3 and median(beats) < 2) else 1


if __name__ == "__main__":
    sys.exit(main())
