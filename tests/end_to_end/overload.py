"""Five times more load than a cluster's capacity: served requests are in time, the others are refused at once. What the tests
of overload share.

With --full the overload comes in turns with the load that was served best, and the bounds are those that only a machine
with nothing else to do keeps.
"""
import collections
import http.client
import itertools
import json
import random
import statistics
import subprocess
import sys
import threading
import time

import processes
from clients import quantile
from cluster import Cluster
from processes import MEASURED, resident_mb

SLO_MS = 250
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")
SECONDS = 6 if FULL else 4  # of one load
TURNS = 7 if FULL else 1
RAMP = (0.8, 0.9, 1.0, 1.1, 1.25) if FULL else (1.0,)
# One emulated device: a batch of 16 takes 40 ms, so its capacity is 400 requests a second, and the load generator can offer
# five times that on the same cores.
EMULATED = 'kind = "emulated"'
CAPACITY = 400
PROFILE = "profile = { alpha_ms = 2, beta_ms = 8 }\nmax_batch = 16\n"


def overloaded(model_text, device=EMULATED):
    """A cluster for one of these tests."""
    return Cluster(model_text=model_text, device=device, policy="", limits="node_timeout_ms = 20000", env=MEASURED)


def load(c, rate, seconds, mix=((),)):
    """Open-loop load. `mix`: flags of as many `troupe load`, which run at once with an equal part of the rate each. Returns
    the sums of their counts."""
    running = [subprocess.Popen([processes.PROGRAM, "load", c.url, "--rate", str(rate / len(mix)), "--duration", str(seconds),
                                 "--json", *flags], stdout=subprocess.PIPE, text=True) for flags in mix]
    seen = collections.Counter()
    reasons = collections.Counter()
    for one in running:
        total = json.loads(one.communicate(timeout=10 * seconds + 60)[0])["total"]
        reasons.update(total["drop_reasons"])
        seen.update({k: total[k] for k in ("sent", "finished", "dropped", "failed", "offered_rps", "goodput_rps")})
    return {**seen, "drop_reasons": dict(reasons)}


class Sampler:
    """A client that sends one request after the other while it is entered; records every answer."""

    def __init__(self, c, model, bodies):
        self.cluster, self.path, self.bodies = c, f"/v2/models/{model}/infer", itertools.cycle(bodies)
        self.answers, self.random = [], random.Random(1)

    def _run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.http_port, timeout=60)
        while not self.over.is_set():
            began = time.monotonic()
            connection.request("POST", self.path, next(self.bodies), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
            self.answers.append((response.status, 1000 * (time.monotonic() - began), response.headers["Retry-After"],
                                 answer.get("reason", "")))
            time.sleep(self.random.uniform(0.005, 0.05))  # answers come when a batch leaves, which makes room
        connection.close()

    def __enter__(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.over.set()
        self.thread.join(60)

    def ms_of(self, *reasons):
        return [ms for _, ms, _, reason in self.answers if reason in reasons]


def check_overload(test, c, up, model, bodies, mix=((),), capacity=CAPACITY):
    """Offers five times the capacity to a cluster of `overloaded`, and checks the bounds of docs/operations.md. A sampler
    sends the bodies in turn meanwhile."""
    nodes = [up.pid_of("head"), up.pid_of("worker")]
    served = {}
    for rate in RAMP:
        seen = load(c, rate * capacity, SECONDS, mix)
        served[rate] = seen["goodput_rps"]
        print(f"offered {seen['offered_rps']:.0f}/s: goodput {seen['goodput_rps']:.0f}/s", file=sys.stderr)
    best = max(served, key=served.get)
    load(c, 5 * capacity, 2, mix)  # memory that any overload needs
    before = [resident_mb(p) for p in nodes]
    sampler = Sampler(c, model, bodies)
    shares, failed, reasons = [], 0, collections.Counter()
    for _ in range(TURNS):
        peak = load(c, best * capacity, SECONDS, mix)["goodput_rps"]
        load(c, 5 * capacity, 2, mix)  # requests that came before it was known as overload run out of time
        with sampler:
            seen = load(c, 5 * capacity, SECONDS, mix)
        shares.append(seen["goodput_rps"] / peak)
        failed += seen["failed"]
        reasons.update(seen["drop_reasons"])
    grew = max(resident_mb(p) - b for p, b in zip(nodes, before))
    refused, shed = sampler.ms_of("queue_full"), sampler.ms_of("shed", "late")
    at_once = reasons["queue_full"] / max(1, reasons.total())
    print(f"offered {seen['offered_rps']:.0f}/s: goodput {statistics.median(shares):.3f} of the peak in the median of "
          f"{[round(s, 3) for s in shares]}; of {len(sampler.answers)} sampled, {len(refused)} refused, in ms: median "
          f"{quantile(refused, 0.5):.1f}, 99 % {quantile(refused, 0.99):.1f}; {len(shed)} given up after they had waited; "
          f"memory grew by {grew:.1f} MB; {dict(reasons)}", file=sys.stderr)
    test.assertEqual(failed, 0)
    test.assertGreater(at_once, 0, "no overload: the test proves nothing")
    for status, _, retry_after, reason in sampler.answers:
        test.assertIn(status, (200, 429, 503), reason)
        if status != 200:
            test.assertGreaterEqual(int(retry_after), 1)
    test.assertIn(200, {status for status, *_ in sampler.answers})
    test.assertLess(grew, 64)
    test.assertEqual(c.metric("troupe_ledger_balanced"), 1)
    load(c, 0.5 * capacity, 3, mix)
    after = load(c, 0.5 * capacity, 3, mix)
    # Refused at admission, not when their time has run out.
    test.assertGreater(at_once, 0.98 if FULL else 0.5)
    test.assertLess(quantile(refused, 0.99) if FULL else quantile(refused, 0.5), 10 if FULL else SLO_MS / 5)
    test.assertGreater(statistics.median(shares), 0.95 if FULL else 0.3)
    test.assertGreater(after["finished"], (0.9 if FULL else 0.3) * after["sent"], "the overload is over, but not for the cluster")
