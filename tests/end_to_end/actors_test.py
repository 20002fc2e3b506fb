#!/usr/bin/env python3
"""State of a cluster's actors in the tools, and commands to actors."""
import json
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import ROOT, Fixture
from processes import PATIENCE, SANITIZER


def run(*arguments, code=0):
    done = subprocess.run([processes.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == code, f"troupe {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if code else done.stdout


def check_trace(test, document):
    """Slices of a track nest, arrows have both ends, and a request's stations follow each other."""
    tracks, arrows = {}, {}
    for e in document["traceEvents"]:
        if e["ph"] == "X":
            test.assertGreaterEqual(e["dur"], 0)
            tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], -e["dur"], e["name"], e["args"]))
        elif e["ph"] in "sf":
            arrows.setdefault(e["id"], {})[e["ph"]] = e
    for slices in tracks.values():
        open_until = []
        for ts, minus, name, _ in sorted(slices, key=lambda s: s[:2]):
            while open_until and open_until[-1] <= ts + 1e-3:
                open_until.pop()
            if open_until:
                test.assertLessEqual(ts - minus, open_until[-1] + 1e-3, f"{name} ends after what it is in")
            open_until.append(ts - minus)
    for ends in arrows.values():
        test.assertEqual(set(ends), {"s", "f"})
        test.assertLessEqual(ends["s"]["ts"], ends["f"]["ts"])
    return tracks, arrows


class Actors(ClusterTest):
    def test_the_cast_its_commands_and_a_trace(self):
        with Cluster(("mlp",), slo_ms=5000) as c:
            c.start()
            self.assertEqual(json.loads(run("status", c.file, "--json", "--wait", "ready", "30"))["ready"], True)
            listing = json.loads(run("actors", c.file, "--json"))
            rows = {a["name"]: a for n in listing["nodes"] for a in n["actors"]}
            for name in ("node/0@head", "gateway/0@head", "model_queue/0@head", "rank_arbiter/0@head", "console/0@head",
                         "gpu_worker/0@worker", "node/0@worker"):
                self.assertIn(name, rows)
            self.assertEqual(rows["model_queue/0@head"]["model"], "mlp")
            self.assertEqual(rows["gpu_worker/0@worker"]["state"], "idle")
            self.assertIn("gpu_worker/0@worker", run("actors", c.file, "--node", "worker"))

            # Through the console of one node to an actor of another, in both directions.
            worker = json.loads(run("ask", c.file, "gpu_worker/0@worker", "get_state", "--via", "head", "--json"))
            self.assertEqual(worker["state"], "idle")
            queue = json.loads(run("ask", c.file, "model_queue/mlp", "get_state", "--via", "worker"))
            self.assertEqual(queue["model"], "mlp")
            run("ask", c.file, "model_queue/mlp", "get_state", "--wait", "queued_requests == 0", "30")
            run("ask", c.file, "model_queue/mlp", "get_state", "--wait", "queued_requests > 0", "0.3", code=1)
            self.assertIn("there are: ", run("ask", c.file, "model_queue/mlp", "get_state", "--wait", "queued == 0", code=2))

            # A paused queue holds a request, which can be listed and cancelled.
            run("tell", c.file, "model_queue/mlp", "pause_batching")
            fixture = Fixture("mlp")
            answers = []
            client = threading.Thread(target=lambda: answers.append(c.infer("mlp", fixture.body())))
            client.start()
            held = json.loads(run("ask", c.file, "model_queue/mlp", "list_requests", '{"limit": 5}', "--wait", "total > 0"))
            self.assertEqual(held["requests"][0]["state"], "waiting")
            run("ask", c.file, "gateway", '{"cancel_request": {"id": %d}}' % held["requests"][0]["id"])
            client.join(PATIENCE)
            self.assertEqual(answers[0][0], 499)
            run("ask", c.file, "model_queue/mlp", "resume_batching")

            # Every answer names its request, and the cluster remembers the decisions about it.
            status, headers, _ = c.ask("POST", "/v2/models/mlp/infer", fixture.body())
            self.assertEqual(status, 200)
            story = json.loads(run("why", c.file, headers["Troupe-Request-Id"], "--json"))
            self.assertEqual((story["model"], story["state"]), ("mlp", "finished"))
            self.assertEqual([e["event"] for e in story["events"] if e["event"] != "candidate"],
                             ["arrived", "queued", "granted", "ordered", "started", "done"])
            self.assertIn("is dropped as cancelled: its client disconnected",
                          run("why", c.file, held["requests"][0]["id"], "--model", "mlp"))
            self.assertIn("no queue has a record of request 77", run("why", c.file, 77, code=1))
            self.assertIn("the queue of 'mlp' has no record of request 77", run("why", c.file, 77, "--model", "mlp", code=1))
            self.assertIn("'nonsense' is not a request id", run("why", c.file, "nonsense", code=2))
            ledger = json.loads(run("ask", c.file, "gateway", "get_ledger"))
            self.assertEqual(ledger["models"][0]["dropped"], [{"reason": "cancelled", "count": 1}])

            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "trace.json")
                load = threading.Thread(target=lambda: run("load", c.url, "--rate", 40, "--duration", 4))
                load.start()
                said = json.loads(run("trace", c.file, "--seconds", 3, "-o", out, "--json"))
                load.join()
                self.assertGreater(said["requests"], 10)
                tracks, arrows = check_trace(self, json.loads(out.read_text()))
                self.assertGreater(len(arrows), 10)
            page = json.loads(run("top", c.file, "--once", "--json", "--interval", 0.2))
            self.assertEqual(page["models"][0]["model"], "mlp")
            self.assertEqual(page["slots"][0]["state"], "idle")
            self.assertIn("goodput/s", run("top", c.file, "--once"))

    def test_what_cannot_be_done_is_said(self):
        with Cluster(("mlp",), slo_ms=5000) as c:
            c.start()
            self.assertIn("did you mean 'gpu_worker'?", run("ask", c.file, "gpu_wroker/0@worker", "get_state", code=2))
            self.assertIn("set_slo.slo: must be", run("ask", c.file, "model_queue/mlp", "set_slo", '{"slo": "x"}', code=2))
            self.assertIn("the actor takes: get_state", run("ask", c.file, "gpu_worker/0", "dance", code=2))
            self.assertIn("did you mean 'gpu_worker/0@worker'?",
                          run("ask", c.file, "gpu_worker/1@worker", "get_state", code=1))
            self.assertIn("no such slot", run("ask", c.file, "rank_arbiter", "take_slot_out", '{"slot": 77}', code=1))

    def test_a_cluster_that_is_down(self):
        with Cluster() as c:
            self.assertIn("no node of the cluster answers", run("ask", c.file, "gateway", "get_state", code=1))
            run("actors", c.file, "--json", "--interval", 0.1, code=1)
            run("top", c.file, "--once", "--json", "--interval", 0.1, code=1)
            self.assertEqual(run("status", c.file, "--wait", "down", "1").count("no node answers"), 2)


EMULATED = """
name = "emulated"
[[node]]
name = "all"
roles = ["gateway", "scheduler", "worker"]
control_port = {control}
http_port = {http}
[[node.device]]
kind = "emulated"
count = 2
[[model]]
name = "m"
slo_ms = 2000
profile = {{ alpha_ms = 5, beta_ms = 5 }}
"""


class Scripts(ClusterTest):
    def test_goodput_by_slots_takes_slots_out_and_puts_them_back(self):
        control, http = cluster.free_ports(2)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cluster.toml")
            file.write_text(EMULATED.format(control=control, http=http))
            with subprocess.Popen([processes.PROGRAM, "up", file], stdout=subprocess.DEVNULL) as up:
                try:
                    run("status", file, "--wait", "ready", PATIENCE)
                    script = ROOT / "examples/scripts/goodput_by_slots"
                    done = subprocess.run([script, file, f"http://127.0.0.1:{http}", "50", "1"], capture_output=True,
                                          text=True, timeout=2 * PATIENCE,
                                          env={"PATH": "/usr/bin:/bin", "TROUPE": processes.PROGRAM, **SANITIZER})
                    self.assertEqual(done.returncode, 0, done.stderr)
                    header, *lines = done.stdout.splitlines()
                    self.assertEqual(header.split(",")[:3], ["slots", "offered_rps", "goodput_rps"])
                    self.assertEqual([line.split(",")[0] for line in lines], ["2", "1"])
                    self.assertTrue(all(float(line.split(",")[1]) > 0 for line in lines))
                    state = json.loads(run("ask", file, "rank_arbiter", "get_state"))
                    self.assertEqual([s["state"] for s in state["slots"]], ["idle", "idle"])
                finally:
                    up.terminate()
                    up.wait(PATIENCE)


class WithoutCluster(unittest.TestCase):
    def test_the_schema_lists_every_kind(self):
        kinds = json.loads(run("ask", "--schema", "--json"))
        self.assertIn("take_slot_out", kinds["rank_arbiter"])
        self.assertIn("set_slo", run("ask", "--schema", "model_queue"))
        self.assertIn("did you mean", run("ask", "--schema", "model_quue", code=2))

    def test_a_simulation_writes_the_same_kind_of_trace(self):
        folder = ROOT / "examples/quickstart"
        plain = json.loads(run("simulate", folder / "cluster.toml", "--workload", folder / "workload.toml", "--json"))
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch, "trace.json")
            traced = json.loads(run("simulate", folder / "cluster.toml", "--workload", folder / "workload.toml", "--json",
                                    "--trace", out))
            self.assertEqual(plain["trace_hash"], traced["trace_hash"], "recording changes nothing")
            tracks, arrows = check_trace(self, json.loads(out.read_text()))
            self.assertGreater(len(arrows), 100)


if __name__ == "__main__":
    cluster.main()
