#!/usr/bin/env python3
"""A language model gets more and fewer instances while its clients read: weights come over the network in chains, and
processes die while they travel. Real processes, real weights, every stream compared token by token."""
import json
import os
import signal
import threading
import time

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually, run
from streams import Streams

TASKS = FIXTURES.parent / "llama-tasks"
WORKERS = ("first", "second", "third")
PACED = """[links]
pace = true
[[link]]
nodes = ["head", "first", "second", "third"]
gbit_per_s = 0.012
"""


def scaling(keys="instances = 1", table="park_s = 0.5", links="", limits="node_timeout_ms = 20000", **options):
    return Cluster(workers=WORKERS, limits=limits, model_text=f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
nodes = ["first", "second", "third"]
routing = "least_loaded"
max_sequences = 16
kv_mb = 8
{keys}
[scaling]
{table}
{links}""", **options)


def scale(c, instances, *more):
    code, out, err = run("scale", c.file, "tasks", "--instances", instances, "--json", *more)
    assert code == 0, out + err
    return json.loads(out)


def parameters(c):
    code, out, err = run("parameters", c.file, "--json")
    assert code == 0, out + err
    return json.loads(out)


def stages(c):
    return [i["stage"] for i in parameters(c)["instances"]]


def resident_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("Rss:"))


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
                measured.append(resident_bytes(up.pid_of(spare)))
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
                    (("tasks", "--instances", 3), 1, "1 to 2 instances by min_instances and max_instances, not 3"),
                    (("tasks", "--instances", 0), 1, "1 to 2 instances by min_instances and max_instances, not 0")):
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


class Kills(ClusterTest):
    """While weights travel from `first` over `second` to `third`, about four seconds."""

    def setUp(self):
        self.clusters = scaling(table="chunk_kb = 128", links=PACED, limits="node_timeout_ms = 2000")
        self.c = self.clusters.__enter__()
        self.addCleanup(self.clusters.__exit__, None, None, None)
        self.up = self.c.start()

    def copies(self):
        return {x["node"]: x for x in parameters(self.c)["copies"]}

    def hit(self, victim, how, share):
        """Scales to three, and sends the signal when the tail has a share of its chunks."""
        with Streams(self.c) as streams:
            streams.more()
            order = threading.Thread(target=run, args=("scale", self.c.file, "tasks", "--instances", 3, "--wait", PATIENCE))
            order.start()

            def under_way():
                tail = self.copies().get("third", {"ready": 0, "chunks": 1})
                return tail["ready"] >= share * tail["chunks"] and tail["ready"] < tail["chunks"]
            end = time.monotonic() + PATIENCE
            while not under_way() and time.monotonic() < end:
                time.sleep(0.02)
            self.assertTrue(under_way(), "the transfer was over before the process was hit")
            os.kill(self.up.pid_of(victim), how)
            if how == signal.SIGSTOP:
                time.sleep(6)
                os.kill(self.up.pid_of(victim), signal.SIGCONT)
            self.assertTrue(eventually(lambda: stages(self.c) == ["serving"] * 3), parameters(self.c))
            order.join(PATIENCE)
            streams.more()
        self.assertEqual(streams.wrong, [])
        for node, copy in self.copies().items():
            self.assertLessEqual(copy["repeated"], 2 * 4 * (128 << 10), (node, copy))  # a window for each break

    def test_the_source_is_killed(self):
        self.hit("first", signal.SIGKILL, 0.3)

    def test_the_middle_is_killed(self):
        self.hit("second", signal.SIGKILL, 0.5)

    def test_the_tail_is_killed(self):
        self.hit("third", signal.SIGKILL, 0.5)

    def test_the_middle_is_suspended(self):
        self.hit("second", signal.SIGSTOP, 0.3)


if __name__ == "__main__":
    cluster.main()
