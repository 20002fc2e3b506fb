#!/usr/bin/env python3
"""A language model gets more and fewer instances while its clients read: weights come over the network in chains.
Real processes, real weights, every stream compared token by token. `--megabytes N` is the size of the large model.

    tests/end_to_end/scale_test.py build/release/troupe --megabytes 1000
"""
import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import cluster
import random_llama
from cluster import ClusterTest
from processes import MEASURED, MEMORY_FACTOR, SANITIZER, eventually, run
from scaling_cluster import TASKS, WORKERS, memory_of, parameters, scale, scaling, stages
from streams import Streams

options = argparse.ArgumentParser()
options.add_argument("--megabytes", type=int, default=64)
ASKED, sys.argv[1:] = options.parse_known_args()


class Scaling(ClusterTest):
    def check(self, streams):
        self.assertEqual(streams.wrong, [])
        self.assertGreater(streams.right, 0)

    def test_one_instance_becomes_three_and_one_again_and_no_stream_notices(self):
        with scaling() as c:
            up = c.start()
            self.assertEqual(stages(c), ["serving", "idle", "idle"])
            (copy,) = parameters(c)["copies"]
            weights = copy["bytes"]
            with Streams(c) as streams:
                streams.more()
                planned = scale(c, 3, "--dry-run")
                self.assertEqual(planned["chains"], [["tasks/0@first", "tasks/1@second", "tasks/2@third"]])
                self.assertEqual(sorted(planned["predicted_s"]), ["tasks/1@second", "tasks/2@third"])
                self.assertEqual(stages(c)[1:], ["idle", "idle"])
                done = scale(c, 3)
                self.assertEqual(done["chains"], planned["chains"])
                self.assertEqual(done["pulled_bytes"], 2 * weights)
                self.assertEqual(stages(c), ["serving"] * 3)
                streams.more(24)
                counts = [e["sequences"] for e in c.asked("llm_router/0", "get_state")["engines"]]
                self.assertGreater(min(counts), 0, counts)
                scale(c, 1)
                streams.more()
                self.assertTrue(eventually(lambda: len(parameters(c)["copies"]) == 1))
                self.assertEqual(stages(c).count("idle"), 2)
                again = scale(c, 2)
                self.assertEqual(again["pulled_bytes"], weights)
                streams.more()
                scale(c, 1)
            self.check(streams)
            self.assertEqual(c.metric("troupe_llm_ledger_balanced"), 1)
            # Weights leave the memory of a node with its instance: of five rounds none adds up.
            spare = [n for n, stage in zip(WORKERS, stages(c)) if stage != "serving"][0]
            measured = []
            for _ in range(5):
                scale(c, 3)
                scale(c, 1)
                self.assertTrue(eventually(lambda: stages(c).count("idle") == 2))
                measured.append(memory_of([up.pid_of(spare)])[0])
            self.assertLess(measured[-1], measured[0] + weights, measured)

    def test_a_model_without_instances_starts_with_its_first_request(self):
        with scaling("min_instances = 0\ncold_start_s = 100") as c:
            c.start()
            self.assertEqual(stages(c), ["idle"] * 3)
            code, text = c.post("/v1/completions", json.dumps({"model": "tasks", "prompt": "olleh=", "temperature": 0}))
            self.assertEqual(code, 200, text)
            self.assertEqual(json.loads(text)["choices"][0]["text"], "olleh")
            self.assertEqual(stages(c).count("serving"), 1)
            scale(c, 0)
            self.assertEqual(stages(c).count("serving"), 0)
            code, text = c.post("/v1/completions", json.dumps({"model": "tasks", "prompt": "olleh=", "temperature": 0}))
            self.assertEqual(code, 200, text)

    def test_bad_orders_are_refused_with_the_fix(self):
        with scaling("instances = 1\nmax_instances = 2") as c:
            c.start()
            for arguments, code, words in (
                    (("nobody", "--instances", 1), 2, "has no \\[\\[llm\\]\\] 'nobody'"),
                    (("tasks", "--instances", 4), 2, "has 3 places, too few for 4 instances: add nodes"),
                    (("tasks", "--instances", 3), 2, "1 to 2 instances by min_instances and max_instances, not 3"),
                    (("tasks", "--instances", 0), 2, "1 to 2 instances by min_instances and max_instances, not 0")):
                got, out, err = run("scale", c.file, *arguments)
                self.assertEqual(got, code, out + err)
                self.assertRegex(err, words)
            self.assertEqual(stages(c), ["serving", "idle", "idle"])

    def test_the_only_instance_is_replaced_when_its_process_dies(self):
        with scaling(table="copies = 2") as c:
            up = c.start()
            self.assertTrue(eventually(lambda: all(x["ready"] == x["chunks"] for x in parameters(c)["copies"])))
            self.assertEqual(len(parameters(c)["copies"]), 2)
            with Streams(c) as streams:
                streams.more()
                os.kill(up.pid_of("first"), signal.SIGKILL)
                streams.more()
                self.assertTrue(eventually(lambda: stages(c).count("serving") == 1))
            self.check(streams)


class MeasuredRates(ClusterTest):
    """Over links without a rate in the cluster file."""

    def test_the_first_transfer_is_measured_and_the_next_one_predicted_by_it(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "model")
            random_llama.make(model, TASKS / "base", max(80, ASKED.megabytes))
            with scaling(model=model, env=MEASURED) as c:
                c.start()
                self.measure(c)

    def measure(self, c):
        before = parameters(c)
        self.assertEqual(before["links"], [])
        (copy,) = before["copies"]
        (disk,) = before["disks"]
        self.assertEqual(disk["node"], copy["node"])
        self.assertGreater(disk["gbit_per_s"], 0)
        bits = 8e-9 * copy["bytes"]  # in Gbit
        (assumed,) = scale(c, 2, "--dry-run")["predicted_s"].values()
        self.assertAlmostEqual(assumed * 10 / bits, 1, places=3)
        scale(c, 2)
        scale(c, 1)
        self.assertTrue(eventually(lambda: len(parameters(c)["copies"]) == 1))
        (link,) = parameters(c)["links"]
        self.assertEqual((link["from"], link["to"]), ("first", "second"))
        self.assertGreater(link["gbit_per_s"], 0)
        planned = scale(c, 2, "--dry-run")
        (predicted,) = planned["predicted_s"].values()
        self.assertAlmostEqual(predicted * link["gbit_per_s"] / bits, 1, places=3)
        page = c.metric("troupe_link_gbit_per_s", **{"from": "first", "to": "second"})
        self.assertAlmostEqual(page / link["gbit_per_s"], 1, places=3)
        code, out, err = run("parameters", c.file)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"first +second +[0-9.]+\n")


class LargeModel(ClusterTest):
    """Over links that are paced so that a transfer takes a few seconds."""

    def test_one_instance_becomes_three_and_one_again_and_memory_comes_back(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "model")
            random_llama.make(model, TASKS / "base", ASKED.megabytes)
            with scaling(gbit_per_s=ASKED.megabytes * 8e-3 / 3, model=model, env=MEASURED) as c:
                self.scale(c, c.start())

    def scale(self, c, up):
        (copy,) = parameters(c)["copies"]
        self.assertGreater(copy["bytes"], 0.9e6 * ASKED.megabytes)
        pids = [up.pid_of(n) for n in WORKERS]
        before, shared_before = memory_of(pids)
        with Streams(c, clients=4, lengths=range(12, 36, 6)) as streams:
            streams.more()
            done = scale(c, 3)
            self.assertEqual(done["pulled_bytes"], 2 * copy["bytes"])
            self.assertEqual(stages(c), ["serving"] * 3)
            _, shared = memory_of(pids)
            self.assertGreater(shared - shared_before, 1.9 * copy["bytes"])
            streams.more()
            scale(c, 1)
            streams.more(4)
        self.assertEqual(streams.wrong, [])
        self.assertTrue(eventually(lambda: len(parameters(c)["copies"]) == 1))
        total, shared = memory_of(pids)
        self.assertLess(shared - shared_before, 0.1 * copy["bytes"])
        if "LSAN_OPTIONS" not in SANITIZER:  # AddressSanitizer keeps some for each thread; its leak check looks instead
            self.assertLess(total - before, 0.3 * MEMORY_FACTOR * copy["bytes"])


if __name__ == "__main__":
    cluster.main()
