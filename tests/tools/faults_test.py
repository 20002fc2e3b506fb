#!/usr/bin/env python3
"""Workers that are killed, frozen or hours ahead: requests end, outputs are right, the books balance."""
import os
import signal
import time

import cluster
from cluster import Cluster, ClusterTest, Fixture, Load

# What a request may take at most: its deadline, then the gateway's patience; the rest is for a busy machine.
SLO_S, TIMEOUT_S, MACHINE_S = 2, 1, 20
LIMITS = f"request_timeout_ms = {TIMEOUT_S * 1000}\nnode_timeout_ms = 1000"
MODELS = ("mlp", "resnet_a")


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
            self.assert_books_balance(c)
            self.assertTrue(c.status()["ready"])
            self.assertEqual(c.metric_of("worker", "troupe_node_restarts_total"), 1)

    def test_a_worker_that_dies_too_often_stays_down_and_the_others_go_on(self):
        with Cluster(limits=LIMITS) as c:
            up = c.start()
            for n in range(1, 7):
                os.kill(up.wait_node("worker"), signal.SIGKILL)
                up.wait_error(f"starting it again in {0.2 * 2 ** (n - 1):.1f} s" if n < 6 else "stays down")
            self.assertEqual(c.get("/v2/health/live")[0], 200)
            self.assertEqual(c.get("/v2/health/ready")[0], 503)
            self.assertEqual(up.terminate(), 1)

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
            lives = [self.life_of(c, "worker")]
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
            self.assert_books_balance(c)
            lives.append(self.life_of(c, "worker"))
            self.assertGreater(lives[1], lives[0], "a frozen node must begin a new life")

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
                # a deadline misread by hours would drop everything, or nothing ever
                self.assertGreater(load.count(200), 0.9 * len(load.results), load.summary())
                self.assert_books_balance(c)

    def life_of(self, c, node):
        (life,) = [n["life"] for n in c.status()["nodes"] if n["node"] == node]
        return life


if __name__ == "__main__":
    cluster.main()
