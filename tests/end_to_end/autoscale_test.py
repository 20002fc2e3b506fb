#!/usr/bin/env python3
"""Autoscaling in real time: emulated GPUs leave service when the load needs fewer, and come back when it needs more.

    tests/end_to_end/autoscale_test.py build/release/troupe
"""
import subprocess
import time

import cluster
import processes
from cluster import Cluster, ClusterTest
from processes import PATIENCE, SLOWDOWN, eventually

GPUS = 8
# A GPU does at most 4 requests in 54 ms, 74 a second.
MODEL = f"""[[model]]
name = "slow"
slo_ms = {400 * SLOWDOWN}
profile = {{ alpha_ms = {SLOWDOWN}, beta_ms = {50 * SLOWDOWN} }}
max_batch = 4
input_bytes = 16
output_bytes = 16
[autoscale]
mode = "apply"
window_s = {2 * SLOWDOWN}
"""


class Autoscale(ClusterTest):
    def wait_gpus(self, c, wanted):
        """Waits until this many are in service, and `troupe status` reports it."""
        end = time.monotonic() + PATIENCE
        while not (seen := c.status()["autoscale"]) or not wanted(seen["gpus"]):  # None: no answer in time
            self.assertLess(time.monotonic(), end, seen)
            time.sleep(0.2)
        self.assertTrue(seen["applied"])

    def load(self, c, rate):
        return subprocess.Popen([processes.PROGRAM, "load", c.url, "--rate", str(rate / SLOWDOWN), "--duration", str(PATIENCE)],
                                stdout=subprocess.DEVNULL)

    def test_gpus_follow_the_load(self):
        with Cluster(model_text=MODEL, device=f'kind = "emulated"\ncount = {GPUS}', policy="") as c:
            up = c.start()
            self.assertTrue(eventually(lambda: c.metric("troupe_slots") == GPUS))
            for rate, wanted in ((20, lambda gpus: gpus <= 2), (300, lambda gpus: gpus >= 4), (20, lambda gpus: gpus <= 2)):
                load = self.load(c, rate)
                try:
                    self.wait_gpus(c, wanted)
                finally:
                    load.terminate()
                    load.wait(PATIENCE)
            self.assertLess(c.metric("troupe_slots_in_service"), GPUS)
            self.assertEqual(c.metric("troupe_ledger_balanced"), 1)
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
