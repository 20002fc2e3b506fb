#!/usr/bin/env python3
"""Nexus in real time: devices have different models, and those of a dying worker run on the other at once.

    tests/end_to_end/nexus_test.py build/release/troupe
"""
import json
import os
import signal
import subprocess

import cluster
import processes
from cluster import Cluster, ClusterTest

SLO_MS = 1000
MODELS = "".join(f"""[[model]]
name = "{name}"
slo_ms = {SLO_MS}
profile = {{ alpha_ms = {alpha}, beta_ms = {beta} }}
max_batch = 16
input_bytes = 8
output_bytes = 8
""" for name, alpha, beta in (("light", 0.5, 2), ("middle", 1, 5), ("heavy", 4, 20)))


class Nexus(ClusterTest):
    def load(self, c, seconds):
        done = subprocess.run([processes.PROGRAM, "load", c.url, "--rate", "60", "--duration", str(seconds), "--json"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_models_are_placed_and_placed_again(self):
        with Cluster(model_text=MODELS, workers=("left", "right"), device='kind = "emulated"\ncount = 2',
                     policy='batching = "nexus"\nmatchmaking = "nexus"') as c:
            up = c.start()
            seen = self.load(c, 2)
            for m in seen["models"].values():
                self.assertGreater(m["finished"], 0.9 * m["sent"], m)
            os.kill(up.pid_of("left"), signal.SIGKILL)
            self.load(c, 0.5)  # requests in flight are lost, or run again
            again = self.load(c, 1.5)
            for m in again["models"].values():
                self.assertGreater(m["finished"], 0.9 * m["sent"], m)


if __name__ == "__main__":
    cluster.main()
