#!/usr/bin/env python3
"""Workers that are killed, frozen or hours ahead: requests end, outputs are right, the ledger balances."""
import http.client
import json
import os
import resource
import signal
import struct
import subprocess
import threading
import time
from pathlib import Path

import cluster
import processes
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, cut_connections, eventually

# The longest time of a request: its deadline, then the gateway's timeout; the rest is for a busy machine.
SLO_S, TIMEOUT_S, MACHINE_S = 2, 1, 20
CONTROL_SILENCE_S = 4  # after which a control connection is closed
HEAL_S = 5  # after a partition: a hello a second, and two or three of them
LIMITS = f"request_timeout_ms = {TIMEOUT_S * 1000}\nnode_timeout_ms = 1000"
MODELS = ("mlp", "resnet_a")
EMULATED = """[[model]]
name = "slow"
slo_ms = 60000
profile = { alpha_ms = 1, beta_ms = 20 }
max_batch = 16
input_bytes = 8
output_bytes = 8
"""


def emulated_body(text):
    data = list(text.encode().ljust(8, b"."))
    return json.dumps({"inputs": [{"name": "input", "datatype": "UINT8", "shape": [1, 8], "data": data}]})


def take_a_place_in_the_queue_of(pid):
    """Does to the queue of UCX 1.13 in shared memory what a peer does that is killed when it has taken a place there and
    not filled it. The queue begins with the number of places taken, and has its owner's process number at byte 136."""
    taken = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "/ucx_shm_posix_" not in line:
            continue
        at = int(line.split("-")[0], 16)
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(at)
            words = struct.unpack("<18Q", memory.read(144))
            if words[17] == pid:
                memory.seek(at)
                memory.write(struct.pack("<Q", words[0] + 1))
                taken.append(at)
    assert len(taken) == 1, f"{len(taken)} queues"


class Faults(ClusterTest):
    def assert_requests_ended(self, load):
        self.assertTrue(all(right for *_, right in load.results), "a wrong output")
        slowest = max(took for _, took, *_ in load.results)
        self.assertLess(slowest, SLO_S + TIMEOUT_S + MACHINE_S)
        for status, reason in load.summary():
            self.assertIn(status, ("200", "503", "504"), f"{status}: {reason}")

    def test_a_worker_killed_under_load_is_replaced(self):
        fixtures = [Fixture(m) for m in MODELS]
        with Cluster(MODELS, SLO_S * 1000, limits=LIMITS) as c:
            up = c.start()
            with Load(c, fixtures) as load:
                load.wait_finished(50)
                os.kill(up.pid_of("worker"), signal.SIGKILL)
                up.wait_error("node 'worker' was killed by SIGKILL; starting it again")
                for f in fixtures:
                    c.wait_until_served(f)
                load.wait_finished(50)
            self.assert_requests_ended(load)
            self.assert_ledger_balances(c)
            self.assertTrue(c.status()["ready"])
            self.assertEqual(c.metric_of("worker", "troupe_node_restarts_total"), 1)
            listing = subprocess.run([processes.PROGRAM, "actors", c.file, "--node", "worker", "--json"],
                                     capture_output=True)
            worker = json.loads(listing.stdout)["nodes"][0]
            self.assertEqual((worker["restarts"], worker["last_error"]), (1, "was killed by SIGKILL"))

    def test_a_worker_that_dies_again_and_again_comes_back(self):
        with Cluster(limits=LIMITS + "\n[restart]\nmax_delay_s = 0.4") as c:
            up = c.start()
            for n in range(1, 9):
                os.kill(up.wait_node("worker"), signal.SIGKILL)
                up.wait_error(f"starting it again in {'0.2' if n == 1 else f'0.4 s (death {n} in a row)'}")
            c.wait_until_served(Fixture("mlp"))
            self.assertEqual(up.terminate(), 0)

    def test_a_worker_that_died_as_often_as_the_file_allows_stays_down_and_the_others_go_on(self):
        with Cluster(limits=LIMITS + "\n[restart]\ngive_up_after = 3") as c:
            up = c.start()
            for end in ("starting it again in 0.2 s", "(death 2 in a row)", "3 times in a row, and stays down"):
                os.kill(up.wait_node("worker"), signal.SIGKILL)
                up.wait_error(end)
            self.assertEqual(c.get("/v2/health/live")[0], 200)
            for path in ("/v2/health/ready", "/health", "/v2/models/mlp/ready"):
                self.assertEqual(c.retry_after(path), (503, "1"), path)
            self.assertEqual(up.terminate(), 1)

    def test_a_node_that_cannot_be_started_just_now_is_tried_again_and_the_others_go_on(self):
        with Cluster(limits=LIMITS) as c:
            up = c.start()
            victim = up.pid_of("worker")
            files = Path(f"/proc/{up.child.pid}/fd")
            before = resource.prlimit(up.child.pid, resource.RLIMIT_NOFILE)
            limit = 1 + max(int(f.name) for f in files.iterdir())  # the dead node's pipe leaves room for one more file
            resource.prlimit(up.child.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
            os.kill(victim, signal.SIGKILL)
            up.wait_error("node 'worker' was not started: cannot make a pipe: Too many open files; starting it again in")
            self.assertEqual(c.get("/v2/health/live")[0], 200)
            resource.prlimit(up.child.pid, resource.RLIMIT_NOFILE, before)
            c.wait_until_served(Fixture("mlp"))
            self.assertEqual(up.terminate(), 0)

    def test_a_node_that_was_told_to_stop_stays_down(self):
        with Cluster(limits=LIMITS) as c:
            up = c.start()
            os.kill(up.pid_of("worker"), signal.SIGTERM)
            up.wait_error("node 'worker' ended with exit code 0; start it again with")
            self.assertEqual(up.terminate(), 0)

    def test_no_restart_leaves_it_down(self):
        with Cluster(limits=LIMITS) as c:
            up = c.start("--no-restart")
            os.kill(up.pid_of("worker"), signal.SIGKILL)
            up.wait_error("node 'worker' was killed by SIGKILL; start it again with")
            self.assertEqual(up.terminate(), 1)

    def test_a_worker_frozen_under_load_gives_no_wrong_output(self):
        fixtures = [Fixture(m) for m in MODELS]
        with Cluster(MODELS, SLO_S * 1000, limits=LIMITS) as c:
            up = c.start()
            worker = up.pid_of("worker")
            incarnations = [self.incarnation_of(c, "worker")]
            with Load(c, fixtures) as load:
                load.wait_finished(50)
                for _ in range(2):
                    os.kill(worker, signal.SIGSTOP)
                    time.sleep(3)  # longer than the node timeout
                    os.kill(worker, signal.SIGCONT)
                    for f in fixtures:
                        c.wait_until_served(f)
                    load.wait_finished(20)
            self.assert_requests_ended(load)
            self.assert_ledger_balances(c)
            incarnations.append(self.incarnation_of(c, "worker"))
            self.assertGreater(incarnations[1], incarnations[0], "a frozen node must begin a new incarnation")

    def test_while_one_of_two_workers_is_frozen_the_other_serves(self):
        fixtures = [Fixture(m) for m in MODELS]
        with Cluster(MODELS, SLO_S * 1000, limits=LIMITS, workers=("left", "right")) as c:
            up = c.start()
            left = up.pid_of("left")
            with Load(c, fixtures) as load:
                load.wait_finished(50)
                os.kill(left, signal.SIGSTOP)
                up.wait_error("event=node_down node=left")
                load.wait_finished(50)
                self.wait_metric(c, "troupe_slots", 1)
                os.kill(left, signal.SIGCONT)
                self.wait_metric(c, "troupe_slots", 2)
                load.wait_finished(50)
            self.assert_requests_ended(load)
            self.assert_ledger_balances(c)
            self.assertEqual(c.metric("troupe_slots"), 2)
            self.assertEqual(c.metric_of("left", "troupe_node_restarts_total"), 0)

    def test_a_node_frozen_for_longer_than_control_connections_last_begins_one_new_incarnation(self):
        names = ("head", "frontend", "left", "right")
        with Cluster(limits=LIMITS, env={"UCX_TLS": "tcp"}, workers=names[2:], frontends=names[1:2]) as c:
            up = c.start()
            for name in names:
                before = up.output().count(f"event=new_incarnation node={name}")
                os.kill(up.pid_of(name), signal.SIGSTOP)
                time.sleep(CONTROL_SILENCE_S + 1)
                os.kill(up.pid_of(name), signal.SIGCONT)
                self.assertTrue(eventually(lambda: up.output().count(f"event=new_incarnation node={name}") > before))
                c.wait_until_served(Fixture("mlp"))
                self.assertTrue(eventually(lambda: c.status()["ready"]))
                time.sleep(2)  # in which it would be declared dead again
                self.assertEqual(up.output().count(f"event=new_incarnation node={name}"), before + 1, up.output())

    def test_a_killed_gateway_is_forgotten_and_another_goes_on(self):
        fixtures = [Fixture(m) for m in MODELS]
        # Deferred batching to the letter makes requests wait: the scheduler has many of the frontend's when
        # that dies.
        policy = 'batching = "deferred"\nshedding = "timeout"\nmargin_us = 300000'
        with Cluster(MODELS, SLO_S * 1000, policy, LIMITS, frontends=("frontend",)) as c:
            up = c.start()
            victim = Load(c, fixtures, clients=16, port=c.frontend_ports["frontend"])
            with Load(c, fixtures, clients=4) as load, victim:
                victim.wait_finished(50)
                end = time.monotonic() + PATIENCE
                while c.metric("troupe_queue_requests") < 8:
                    self.assertLess(time.monotonic(), end, "the clients never wait all at once")
                    time.sleep(0.01)
                os.kill(up.pid_of("frontend"), signal.SIGKILL)
                up.wait_error("event=node_down node=frontend")
                load.wait_finished(20)
                victim.stop()
            self.assertTrue(all(right for *_, right in load.results + victim.results), "a wrong output")
            self.assertGreater(load.count(200), 0.9 * len(load.results), load.summary())
            self.assertGreater(c.metric("troupe_lost_with_gateway_total"), 0)
            for name in ("troupe_queue_requests", "troupe_queue_running_batches"):
                self.wait_metric(c, name, 0)
            self.assertEqual(c.metric("troupe_ledger_balanced"), 1)
            self.wait_metric(c, "troupe_requests_in_flight", 0)
            up.wait_node("frontend")  # `up` has restarted it
            end = time.monotonic() + PATIENCE
            while (code := self.ask(c, fixtures[0], c.frontend_ports["frontend"])) != 200:
                self.assertLess(time.monotonic(), end, code)
                time.sleep(0.1)

    def test_a_request_that_kills_two_workers_is_poison_and_the_others_are_served(self):
        with Cluster(model_text=EMULATED, device='kind = "emulated"', workers=("left", "right"), limits=LIMITS,
                     policy='batching = "eager"', env={"TROUPE_TEST_ABORT_ON": "poison"}) as c:
            up = c.start()
            self.wait_metric(c, "troupe_slots", 2)  # "ready" waits for one worker of the model
            answers = []

            def ask(text):
                answers.append((text, *c.infer("slow", emulated_body(text))))
            asking = [threading.Thread(target=ask, args=(t,)) for t in ["innocent"] * 7 + ["poison"] + ["innocent"] * 7]
            for t in asking:
                t.start()
            for t in asking:
                t.join(PATIENCE)
            self.assertEqual(len(answers), 15)
            for text, status, answer in answers:
                if text == "poison":
                    self.assertEqual(status, 500, answer)
                    self.assertEqual(answer["reason"], "poison")
                    self.assertIn("two workers failed while they ran it", answer["error"])
                else:
                    self.assertEqual(status, 200, answer)
            for name in ("left", "right"):
                up.wait_error(f"node '{name}' was killed by SIGABRT")
            self.assertEqual(up.output().count("was killed by SIGABRT"), 2)
            self.assertEqual(c.metric("troupe_queue_poisoned_total"), 1)
            self.assert_ledger_balances(c)

    def test_an_actor_that_throws_ends_its_process_with_exit_code_70(self):
        with Cluster(model_text=EMULATED, device='kind = "emulated"', workers=("left", "right"), limits=LIMITS,
                     policy='batching = "eager"', env={"TROUPE_TEST_THROW_ON": "throw"}) as c:
            nodes = {name: c.start("--node", name, ready=None) for name in ("head", "left", "right")}
            nodes["head"].wait_line("ready")
            self.wait_metric(c, "troupe_slots", 2)  # "ready" waits for one worker of the model
            status, answer = c.infer("slow", emulated_body("throws"))  # both workers run it, and both die
            self.assertEqual((status, answer["reason"]), (500, "poison"), answer)
            for name in ("left", "right"):
                self.assertEqual(nodes[name].wait(), 70)
                self.assertRegex(nodes[name].output(), rf"event=broken node={name} reason=.*gpu_worker.* failed on")
            self.assertIsNone(nodes["head"].child.poll())
            self.assert_ledger_balances(c)

    def ask(self, c, fixture, port):
        try:
            return c.infer(fixture.name, fixture.body(1), port)[0]
        except (OSError, http.client.HTTPException) as e:
            return str(e)

    def wait_metric(self, c, name, value):
        end = time.monotonic() + PATIENCE
        while (now := c.metric(name)) != value:
            self.assertLess(time.monotonic(), end, f"{name} stays at {now}")
            time.sleep(0.05)

    def test_a_node_whose_shared_queue_is_stuck_begins_a_new_incarnation(self):
        with Cluster(limits=LIMITS, env={"UCX_TLS": "posix,cma,tcp,self"}, workers=("left", "right")) as c:
            up = c.start()
            self.wait_metric(c, "troupe_slots", 2)
            take_a_place_in_the_queue_of(up.pid_of("head"))
            up.wait_error('event=new_incarnation node=head')
            self.assertIn('reason="nothing arrives from the peers of its host"', up.output())
            self.wait_metric(c, "troupe_slots", 2)
            c.wait_until_served(Fixture("mlp"))
            self.assert_ledger_balances(c)

    def test_connections_that_are_cut_heal_soon_and_for_good(self):
        names = ("head", "frontend", "left", "right")
        with Cluster(limits=LIMITS, env={"UCX_TLS": "tcp"}, workers=names[2:], frontends=names[1:2]) as c:
            up = c.start()
            for name in ("head", "frontend", "left", "right", "head"):
                downs = up.output().count("event=node_down")
                before = up.output().count("event=new_incarnation")
                pids = {up.pid_of(n) for n in names}
                if not cut_connections(up.pid_of(name), pids - {up.pid_of(name)}):
                    self.skipTest("the kernel does not let us cut connections")
                end = time.monotonic() + HEAL_S + MACHINE_S
                ready_since = None  # healed: ready, and still so a second later
                while ready_since is None or time.monotonic() < ready_since + 1:
                    self.assertLess(time.monotonic(), end, f"the cluster does not heal after the cut at {name}")
                    time.sleep(0.1)
                    noticed = up.output().count("event=node_down") > downs
                    if not noticed or not c.status()["ready"]:
                        ready_since = None
                    elif ready_since is None:
                        ready_since = time.monotonic()
                self.assertLess(up.output().count("event=new_incarnation") - before, 4 * len(names),
                                "one incarnation after another")
            c.wait_until_served(Fixture("mlp"))

    def test_nodes_whose_clocks_are_hours_apart_keep_deadlines(self):
        fixtures = [Fixture(m) for m in MODELS]
        for offset_ms in (7_200_000, -7_200_000):
            with self.subTest(offset_ms=offset_ms), Cluster(MODELS, SLO_S * 1000, limits=LIMITS) as c:
                c.start("--node", "head", ready=None)
                c.start("--node", "worker", "--clock-offset-ms", str(offset_ms))
                for f in fixtures:
                    c.wait_until_served(f)
                with Load(c, fixtures, clients=4) as load:
                    load.wait_finished(100)
                self.assert_requests_ended(load)
                # a misread deadline would drop everything, or never anything
                self.assertGreater(load.count(200), 0.9 * len(load.results), load.summary())
                self.assert_ledger_balances(c)

    def incarnation_of(self, c, node):
        (incarnation,) = [n["incarnation"] for n in c.status()["nodes"] if n["node"] == node]
        return incarnation


if __name__ == "__main__":
    cluster.main()
