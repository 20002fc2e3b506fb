#!/usr/bin/env python3
"""CPU time and memory of the quickstart's cluster at low load: a request's CPU time by rate, the idle cluster's, and its RSS.

    tests/end_to_end/low_load_cost.py build/release/troupe [other programs, in turns]

The CPU time is that of all threads of all nodes, with the cost of the idle cluster included.
"""
import argparse
import collections
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import processes
from cluster import Cluster
from fixtures import ROOT

QUICKSTART = ROOT / "examples/quickstart"


def cpu_of_threads(pids):
    """Seconds by the thread's name, to the nanosecond."""
    found = collections.Counter()
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found[(task / "comm").read_text().strip()] += int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def switches_of_threads(pids):
    """How often each thread gave its core up, which is once for each wake-up, by the thread's name."""
    found = collections.Counter()
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            line = next(l for l in (task / "status").read_text().splitlines() if l.startswith("voluntary"))
            found[(task / "comm").read_text().strip()] += int(line.split()[1])
    return found


def memory_mb(pid):
    """(RSS, its share of files' and shared memory's pages) in MB."""
    fields = dict(line.split(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    rss, files, shared = (int(fields[f].split()[0]) * 1024 / 1e6 for f in ("VmRSS", "RssFile", "RssShmem"))
    return rss, files, shared


class Side:
    """The quickstart's cluster, run by a program."""

    def __init__(self, program, batching):
        self.program = program
        self.cluster = Cluster()
        head, control, worker = (self.cluster.http_port, *processes.free_ports(2))
        text = (QUICKSTART / "cluster.toml").read_text()
        for old, new in (("8080", head), ("7701", control), ("7702", worker),
                         ('"deferred"', f'"{batching}"'), ('"models/', f'"{QUICKSTART}/models/')):
            assert text.count(old) >= 1, old
            text = text.replace(old, str(new)) if "models" in old else text.replace(f"= {old}", f"= {new}")
        self.cluster.file.write_text(text)
        self.costs, self.latencies = collections.defaultdict(list), collections.defaultdict(list)

    def start(self):
        processes.PROGRAM = self.program
        up = self.cluster.start()
        self.pids = [up.pid_of("head"), up.pid_of("worker")]

    def idle(self, seconds):
        before, slept = cpu_of_threads(self.pids), switches_of_threads(self.pids)
        time.sleep(seconds)
        cost = cpu_of_threads(self.pids) - before
        self.costs[0].append(cost.total() / seconds)
        return cost, switches_of_threads(self.pids) - slept

    def load(self, rate, requests, model="mlp"):
        before, slept = cpu_of_threads(self.pids), switches_of_threads(self.pids)
        done = subprocess.run([self.program, "load", self.cluster.url, "--rate", str(rate), "--duration",
                               str(requests / rate), "--model", model, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        cost = cpu_of_threads(self.pids) - before
        self.costs[rate].append(cost.total() / requests)
        self.latencies[rate].append(report["total"]["p50_ms"])
        return cost, switches_of_threads(self.pids) - slept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=[processes.PROGRAM])
    parser.add_argument("--rates", type=float, nargs="+", default=[50, 500])
    parser.add_argument("--requests", type=int, default=1000, help="of each rate")
    parser.add_argument("--repetitions", type=int, default=3, help="medians of so many")
    parser.add_argument("--batching", default="eager")
    parser.add_argument("--threads", action="store_true", help="print the CPU time and the wake-ups of each thread")
    options = parser.parse_args()
    sides = [Side(p, options.batching) for p in options.programs]
    for side in sides:
        with side.cluster:
            side.start()
            side.load(50, 100)  # connections, plans, caches
            side.costs.clear(), side.latencies.clear()
            for _ in range(options.repetitions):
                for rate in [0, *options.rates]:
                    cost, switches = side.load(rate, options.requests) if rate else side.idle(5)
                    if options.threads:
                        print(f"{rate}/s:", ", ".join(f"{n} {s:.3f} s, {switches[n]} wake-ups"
                                                      for n, s in cost.most_common() if s > 5e-4))
            print(side.program)
            for rate, costs in side.costs.items():
                if rate == 0:
                    print(f"  idle: {statistics.median(costs) * 1e3:.1f} ms of CPU a second")
                else:
                    print(f"  {rate:.0f} requests/s: {statistics.median(costs) * 1e3:.3f} ms of CPU a request, "
                          f"p50 {statistics.median(side.latencies[rate]):.2f} ms")
            for pid, name in zip(side.pids, ("head", "worker")):
                rss, files, shared = memory_mb(pid)
                print(f"  {name}: RSS {rss:.0f} MB ({files:.0f} of files, {shared:.0f} shared)")


if __name__ == "__main__":
    sys.exit(main())
