#!/usr/bin/env python3
"""Processes die or are suspended while weights travel from `first` over `second` to `third`, and clients read streams.
With `--full` every role is hit at 10, 50 and 90 % of the transfer.

    tests/end_to_end/scale_kills_test.py build/release/troupe --full --megabytes 64
"""
import argparse
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import cluster
import random_llama
from cluster import ClusterTest
from processes import PATIENCE, eventually, run
from scaling_cluster import TASKS, parameters, scaling, stages
from streams import Streams

options = argparse.ArgumentParser()
options.add_argument("--full", action="store_true")
options.add_argument("--megabytes", type=int, default=0, help="of a random model; 0: the fixture")
ASKED, sys.argv[1:] = options.parse_known_args()

AT_LEAST, AFTER = 4, 1.5  # seconds of the transfer, and of what is left of it when the signal hits
CHUNK_KB, WINDOW = (128, 4) if ASKED.megabytes == 0 else (1024, 4)
FIXTURE_BYTES = 6e6
SUSPENDED = 6  # seconds: longer than the node timeout


class Kills(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.read = None, {}
        if ASKED.megabytes > 0:
            folder = cls.enterClassContext(tempfile.TemporaryDirectory())
            cls.model = Path(folder, "model")
            random_llama.make(cls.model, TASKS / "base", ASKED.megabytes)
            cls.read = {"clients": 4, "lengths": range(12, 36, 6)}

    def hit(self, victim, how, share):
        """Scales to three, and sends the signal when the tail has a share of its chunks."""
        size = ASKED.megabytes * 1e6 or FIXTURE_BYTES
        seconds = max(AT_LEAST, AFTER / (1 - share))
        line = ("leader", "standby") if victim == "leader" else ()
        with scaling(table=f"chunk_kb = {CHUNK_KB}\nwindow = {WINDOW}", gbit_per_s=size * 8e-9 / seconds, model=self.model,
                     limits="node_timeout_ms = 2000", line=line) as c:
            up = c.start()
            with Streams(c, **self.read) as streams:
                streams.more()
                order = threading.Thread(target=run, args=("scale", c.file, "tasks", "--instances", 3, "--wait", PATIENCE))
                order.start()
                self.wait_until_under_way(c, share)
                os.kill(up.pid_of(victim), how)
                if how == signal.SIGSTOP:
                    time.sleep(SUSPENDED)
                    os.kill(up.pid_of(victim), signal.SIGCONT)
                self.assertTrue(eventually(lambda: stages(c) == ["serving"] * 3), parameters(c))
                order.join(PATIENCE)
                streams.more()
            self.assertEqual(streams.wrong, [])
            for node, copy in self.copies(c).items():  # two may break: the victim's link, and its replacement's
                self.assertLessEqual(copy["repeated"], 2 * WINDOW * (CHUNK_KB << 10), (node, copy))

    def copies(self, c):
        return {x["node"]: x for x in parameters(c)["copies"]}

    def wait_until_under_way(self, c, share):
        def under_way():
            tail = self.copies(c).get("third", {"ready": 0, "chunks": 1})
            return tail["ready"] >= share * tail["chunks"] and tail["ready"] < tail["chunks"]
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if under_way():
                return
            time.sleep(0.02)
        self.fail("the transfer was over before the process was hit")

    def test_the_source_is_killed(self):
        self.hit("first", signal.SIGKILL, 0.3)

    def test_the_middle_is_killed(self):
        self.hit("second", signal.SIGKILL, 0.5)

    def test_the_tail_is_killed(self):
        self.hit("third", signal.SIGKILL, 0.5)

    def test_the_leader_is_killed(self):
        self.hit("leader", signal.SIGKILL, 0.5)

    def test_the_middle_is_suspended(self):
        self.hit("second", signal.SIGSTOP, 0.3)

    @unittest.skipUnless(ASKED.full, "24 clusters")
    def test_every_role_is_hit_at_the_beginning_the_middle_and_the_end(self):
        for victim in ("first", "second", "third", "leader"):
            for how in (signal.SIGKILL, signal.SIGSTOP):
                for share in (0.1, 0.5, 0.9):
                    with self.subTest(victim=victim, how=how.name, share=share):
                        self.hit(victim, how, share)


if __name__ == "__main__":
    cluster.main()
