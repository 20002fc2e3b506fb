#!/usr/bin/env python3
"""Five times more load than the cluster's capacity: served requests are in time, the others are refused at once.

    tests/end_to_end/overload_test.py build/release/troupe           what ctest runs: status codes, memory, the ledger
    tests/end_to_end/overload_test.py build/release/troupe --full    30 s after a ramp, and how much is served how soon: bounds
                                                                that only a machine with nothing else to do keeps
"""
import http.client
import itertools
import json
import subprocess
import sys
import threading
import time

import cluster
import processes
from clients import quantile
from cluster import Cluster, ClusterTest
from processes import MEASURED, resident_mb

# One emulated device: a batch of 16 takes 40 ms, so its capacity is 400 requests a second, and the load
# generator can offer five times that on the same cores.
CAPACITY, SLO_MS = 400, 250
MODEL = f"""[[model]]
name = "slow"
slo_ms = {SLO_MS}
profile = {{ alpha_ms = 2, beta_ms = 8 }}
max_batch = 16
input_bytes = 16
output_bytes = 16
"""
BODY = json.dumps({"inputs": [{"name": "input", "datatype": "UINT8", "shape": [1, 16], "data": [7] * 16}]})
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")
SECONDS = 30 if FULL else 6


def overloaded():
    return Cluster(model_text=MODEL, device='kind = "emulated"', policy="", limits="node_timeout_ms = 20000",
                   env=MEASURED)


def load(c, rate, seconds, *flags):
    done = subprocess.run([processes.PROGRAM, "load", c.url, "--rate", str(rate), "--duration", str(seconds), "--json",
                           *flags], capture_output=True, text=True, timeout=10 * seconds + 60)
    return json.loads(done.stdout)["total"]


class Sampler:
    """A client that sends one request after the other; records every answer."""

    def __init__(self, c, model="slow", bodies=(BODY,)):
        self.cluster, self.path, self.bodies = c, f"/v2/models/{model}/infer", itertools.cycle(bodies)
        self.answers, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.http_port, timeout=60)
        while not self.over.is_set():
            began = time.monotonic()
            connection.request("POST", self.path, next(self.bodies), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
            self.answers.append((response.status, 1000 * (time.monotonic() - began), response.headers["Retry-After"],
                                 answer.get("reason", "")))
            time.sleep(0.005)
        connection.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.over.set()
        self.thread.join(60)

    def ms_of(self, *reasons):
        return [ms for _, ms, _, reason in self.answers if reason in reasons]


def overload(test, c, up, model="slow", bodies=(BODY,), flags=()):
    """Five times the capacity, and the bounds that any machine keeps. Returns the counts of the load, and the sampler,
    which sends the bodies in turn. `flags` are for the command load."""
    nodes = [up.pid_of("head"), up.pid_of("worker")]
    load(c, 5 * CAPACITY, 2, *flags)  # warm-up: memory that any overload needs
    before = [resident_mb(p) for p in nodes]
    with Sampler(c, model, bodies) as sampler:
        seen = load(c, 5 * CAPACITY, SECONDS, *flags)
    grew = max(resident_mb(p) - b for p, b in zip(nodes, before))
    refused, shed = sampler.ms_of("queue_full"), sampler.ms_of("shed", "late")
    print(f"offered {seen['offered_rps']:.0f}/s: goodput {seen['goodput_rps']:.0f}/s; of {len(sampler.answers)} sampled, "
          f"{len(refused)} refused, in ms: median {quantile(refused, 0.5):.1f}, 99 % {quantile(refused, 0.99):.1f}; "
          f"{len(shed)} given up after they had waited; memory grew by {grew:.1f} MB; {seen['drop_reasons']}",
          file=sys.stderr)
    test.assertEqual(seen["failed"], 0, seen)
    test.assertGreater(seen["drop_reasons"].get("queue_full", 0), 0, "no overload: the test proves nothing")
    for status, _, retry_after, reason in sampler.answers:
        test.assertIn(status, (200, 429, 503), reason)
        if status != 200:
            test.assertGreaterEqual(int(retry_after), 1)
    test.assertLess(grew, 64)
    test.assertEqual(c.metric("troupe_ledger_balanced"), 1)
    return seen, sampler


class Overload(ClusterTest):
    def test_five_times_the_capacity(self):
        with overloaded() as c:
            up = c.start()
            below = []
            for rate in (0.8, 0.9, 1.0, 1.1, 1.25) if FULL else (1.0,):
                seen = load(c, rate * CAPACITY, SECONDS / 3)
                below.append(seen["goodput_rps"])
                print(f"offered {seen['offered_rps']:.0f}/s: goodput {seen['goodput_rps']:.0f}/s", file=sys.stderr)
            peak = max(1, *below)  # a stalled machine serves none
            seen, sampler = overload(self, c, up)
            print(f"goodput is {seen['goodput_rps'] / peak:.3f} of the peak", file=sys.stderr)
            refused, dropped = sampler.ms_of("queue_full"), sum(seen["drop_reasons"].values())
            load(c, 0.5 * CAPACITY, 3)
            after = load(c, 0.5 * CAPACITY, 3)
            self.assertGreater(after["finished"], 0, "the overload is over, but not for the cluster")
            if FULL:
                # They are refused at admission, not when their time has run out.
                self.assertGreater(seen["drop_reasons"]["queue_full"], 0.98 * dropped)
                self.assertLess(quantile(refused, 0.99), 10)
                self.assertGreater(seen["goodput_rps"], 0.95 * peak)
                self.assertGreater(after["finished"], 0.9 * after["sent"])


if __name__ == "__main__":
    cluster.main()
