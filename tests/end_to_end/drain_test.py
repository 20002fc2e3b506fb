#!/usr/bin/env python3
"""SIGTERM under load: accepted requests are answered, later ones are refused. And SIGTERM while a node is frozen."""
import http.client
import os
import signal
import subprocess
import threading
import time

import cluster
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, descendants, eventually

GRACE_S = 5  # of `troupe up`, after drain_timeout
MACHINE_S = 20  # it may be very busy


class Drain(ClusterTest):
    def test_a_drained_cluster_loses_no_request(self):
        fixture = Fixture("mlp")
        with Cluster(("mlp",), slo_ms=60000, limits="drain_timeout_ms = 60000\nnode_timeout_ms = 20000") as c:
            up = c.start()
            with Load(c, [fixture], clients=12) as load:
                load.wait_finished(24)
                # A paused queue keeps the requests of all clients until the node drains. (A request in flight may
                # belong to a batch from before the pause.)
                c.asked("model_queue/mlp", "pause_batching")
                self.assertTrue(eventually(lambda: c.asked("model_queue/mlp", "get_state")["queued_requests"] == 12))
                looked_at = time.monotonic()
                resume = threading.Timer(0.5, c.asked, ("model_queue/mlp", "resume_batching"))
                resume.start()
                stopped_at = time.monotonic()
                self.assertEqual(up.terminate(), 0, up.output())
                resume.join()
                time.sleep(0.5)  # some more, to a gateway that drains
            self.assertTrue(all(right for *_, right in load.results))
            in_flight = late = 0
            for began, took, status, reason, _ in load.results:
                if began + took < stopped_at:
                    continue
                if began < looked_at:  # certainly accepted before the signal
                    self.assertEqual(status, 200, reason)
                    in_flight += 1
                elif status != 200:
                    late += 1
                    self.assertIn(status, (503, ConnectionRefusedError, ConnectionResetError, BrokenPipeError), reason)
            self.assertEqual(in_flight, 12)
            self.assertGreater(late, 0)


class Frozen(ClusterTest):
    """A frozen process reacts to SIGKILL only."""

    def end_of(self, up, seconds):
        """The exit code and the duration; the parent must end soon and leave no process behind."""
        children, began = descendants(up.child.pid), time.monotonic()
        try:
            up.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"`troupe up` is still there after {seconds} s:\n{up.output()}")
        took = time.monotonic() - began
        self.assertEqual([pid for pid in children if os.path.exists(f"/proc/{pid}")], [])
        return up.wait(), took

    def test_a_frozen_node_is_killed_in_the_end_and_the_others_drain(self):
        drain_s = 1
        for frozen, others in (("worker", ("head", "second")), ("head", ("worker", "second"))):
            with self.subTest(frozen), Cluster(workers=("worker", "second"),
                                               limits=f"drain_timeout_ms = {drain_s * 1000}\nnode_timeout_ms = 20000") as c:
                up = c.start()
                os.kill(up.pid_of(frozen), signal.SIGSTOP)
                up.child.send_signal(signal.SIGTERM)
                # two phases, each with nodes that wait for the frozen one as long as allowed
                code, took = self.end_of(up, 2 * drain_s + GRACE_S + MACHINE_S)
                self.assertGreater(took, drain_s + GRACE_S - 1, "it had that long")
                self.assertEqual(code, 1)
                self.assertIn(f"node '{frozen}' did not end within {drain_s + GRACE_S} s after the stop signal; killing it",
                              up.output())
                self.assertIn(f"node '{frozen}' was killed by SIGKILL", up.output())
                for other in others:  # they ended with exit code 0, otherwise it would have reported it
                    self.assertNotIn(f"node '{other}'", up.output())

    def test_a_second_signal_does_not_wait(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                              (signal.SIGINT, signal.SIGTERM)):
            with self.subTest((first, second)), Cluster(limits="drain_timeout_ms = 600000\nnode_timeout_ms = 600000") as c:
                up = c.start()
                os.kill(up.pid_of("worker"), signal.SIGSTOP)
                up.child.send_signal(first)
                end = time.monotonic() + PATIENCE
                while self.is_ready(c):  # until the head drains, on request
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
                time.sleep(1.1)  # earlier it belongs to the first
                up.child.send_signal(second)
                code, _ = self.end_of(up, MACHINE_S)
                self.assertEqual(code, 1)
                self.assertIn("node 'worker' was killed by SIGKILL", up.output())

    def test_signals_within_a_second_are_one(self):
        with Cluster() as c:
            up = c.start()
            for _ in range(3):
                up.child.send_signal(signal.SIGTERM)
                time.sleep(0.02)
            code, _ = self.end_of(up, MACHINE_S)
            self.assertEqual(code, 0, up.output())
            self.assertNotIn("SIGKILL", up.output())

    def is_ready(self, c):
        try:
            return c.get("/v2/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


if __name__ == "__main__":
    cluster.main()
