#!/usr/bin/env python3
"""Scheduling domains in real time: models migrate between them while they serve, by command and by the placer.

    tests/end_to_end/domains_test.py build/release/troupe
"""
import json
import subprocess
import time

import cluster
import processes
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import Emulated
from processes import PATIENCE

DOMAINS = ("west", "east")
MODELS = [Emulated(name, 8) for name in ("ash", "birch", "cedar", "date")]


def all_in_the_west(more=""):
    return "".join(f"""[[model]]
name = "{m.name}"
domain = "west"
slo_ms = 20000
profile = {{ alpha_ms = 0.5, beta_ms = 2 }}
max_batch = 16
input_bytes = {m.size}
output_bytes = {m.size}
""" for m in MODELS) + more


class Domains(ClusterTest):
    def a_cluster(self, more=""):
        return Cluster(model_text=all_in_the_west(more), domains=DOMAINS, workers=DOMAINS, device='kind = "emulated"')

    def ask(self, c, actor):
        """With ThreadSanitizer a search of the placer takes longer than an answer may."""
        end = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run([processes.PROGRAM, "ask", c.file, actor, "get_state"], capture_output=True, text=True)
            if done.returncode == 0:
                return json.loads(done.stdout)
            self.assertLess(time.monotonic(), end, done.stderr)

    def domains_of_models(self, c):
        return [self.ask(c, f"model_queue/{m.name}")["domain"] for m in MODELS]

    def assert_nothing_was_lost(self, c, load):
        self.assertEqual(load.count(200), len(load.results), load.summary())
        self.assert_ledger_balances(c)

    def test_a_model_moves_while_it_serves(self):
        with self.a_cluster() as c:
            up = c.start()
            with Load(c, MODELS) as load:
                for there in ("east", "west", "east"):
                    load.wait_finished(50)
                    done = subprocess.run([processes.PROGRAM, "migrate", c.file, "ash", there, "--wait", str(PATIENCE)],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.domains_of_models(c), [there, "west", "west", "west"])
                load.wait_finished(50)
            self.assert_nothing_was_lost(c, load)
            self.assertGreater(c.metric_of("east", "troupe_worker_batches_total"), 0)
            self.assertEqual(up.terminate(), 0)

    def test_the_placer_spreads_what_crowds_one_domain(self):
        with self.a_cluster("[placer]\nepoch_s = 1\n") as c:
            up = c.start()
            with Load(c, MODELS) as load:
                end = time.monotonic() + PATIENCE
                while sorted(self.domains_of_models(c)) != ["east", "east", "west", "west"]:
                    self.assertLess(time.monotonic(), end, self.ask(c, "placer"))
                    time.sleep(0.2)
                load.wait_finished(50)
            self.assert_nothing_was_lost(c, load)
            self.assertGreaterEqual(self.ask(c, "placer")["moves"], 2)
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
