#!/usr/bin/env python3
"""Many keep-alive connections with small requests at a given rate, by wrk: no request may fail.

    http_load_test.py PROGRAM                                                       a short run, as ctest does it
    http_load_test.py PROGRAM --connections 5000 --rate 3400 --at-least 3000        a long one, with its figures
"""
import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE

# Every connection sends, gets its answer, and pauses: RATE requests a second of all connections together.
SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
function delay() return math.random(0, {longest_pause_ms}) end
function done(summary, latency, requests)
  local e = summary.errors
  print(string.format(
    '{{"requests": %d, "seconds": %.3f, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f, "connect": %d, "read": %d, ' ..
    '"write": %d, "status": %d, "timeout": %d}}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, e.connect, e.read, e.write, e.status, e.timeout))
end
"""
ERRORS = ("connect", "read", "write", "status", "timeout")


def load(c, connections, rate, seconds):
    """wrk's results, and the largest number of connections at the gateway."""
    with tempfile.TemporaryDirectory() as folder:
        body, script = Path(folder, "body.json"), Path(folder, "load.lua")
        body.write_text(Fixture("mlp").body(1))
        script.write_text(SCRIPT.format(body=body, longest_pause_ms=round(2000 * connections / rate)))
        peak, over = 0, threading.Event()

        def watch():
            nonlocal peak
            while not over.wait(0.5):
                peak = max(peak, c.metric("troupe_http_connections"))
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            done = subprocess.run(["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s",
                                   "--timeout", "30s", "--script", str(script), f"{c.url}/v2/models/mlp/infer"],
                                  capture_output=True, text=True, timeout=seconds + PATIENCE)
        finally:
            over.set()
            watcher.join()
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), int(peak)


def raise_file_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class HttpLoad(ClusterTest):
    def test_many_connections_with_small_requests_and_not_one_error(self):
        raise_file_limit()
        with Cluster() as c:
            c.start()
            seen, connections = load(c, connections=1000, rate=400, seconds=5)
            self.assertEqual({e: seen[e] for e in ERRORS}, dict.fromkeys(ERRORS, 0))
            self.assertGreater(seen["requests"], 0)
            self.assertGreaterEqual(connections, 1000)
            end = time.monotonic() + PATIENCE
            while c.metric("troupe_requests_in_flight") > 0 and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(c.metric("troupe_ledger_balanced"), 1)
            self.assertGreaterEqual(c.metric("troupe_requests_finished_total"), seen["requests"])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--connections", type=int, default=5000)
    options.add_argument("--rate", type=int, default=3400, help="what wrk aims at; it sends somewhat less")
    options.add_argument("--at-least", type=int, default=3000, help="requests a second, or it fails")
    options.add_argument("--seconds", type=int, default=20)
    options.add_argument("--slo-ms", type=int, default=10000)
    o = options.parse_args()
    raise_file_limit()
    processes.PROGRAM = o.program
    with Cluster(slo_ms=o.slo_ms) as c:
        up = c.start()
        seen, connections = load(c, o.connections, o.rate, o.seconds)
        ticks = {node: sum(map(int, Path(f"/proc/{up.pid_of(node)}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
                 for node in ("head", "worker")}
        memory = [line for line in Path(f"/proc/{up.pid_of('head')}/status").read_text().splitlines() if "VmHWM" in line]
    errors = {e: seen[e] for e in ERRORS}
    rate = seen["requests"] / seen["seconds"]
    print(f"{connections - 1} connections, {rate:.0f} requests/s for {seen['seconds']:.0f} s, "
          f"errors {sum(errors.values())}, p50 {seen['p50_ms']:.1f} ms, p99 {seen['p99_ms']:.1f} ms; CPU a request: "
          + ", ".join(f"{node} {t * 10000 / seen['requests']:.0f} µs" for node, t in ticks.items())
          + f"; head's memory {memory[0].split()[1]} kB at most")
    return 0 if not any(errors.values()) and connections > o.connections and rate >= o.at_least else 1


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main())
    cluster.main()
