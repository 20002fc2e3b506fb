#!/usr/bin/env python3
"""Schedulers are killed, frozen and drained while a standby is up: service resumes, nothing is lost.

    tests/end_to_end/failover_test.py build/release/troupe           what ctest runs: every request is answered, the ledger
    tests/end_to_end/failover_test.py build/release/troupe --full    with bounds that only a machine with nothing else to do
        keeps: 20 kills, service back within 100 ms in the median, every request answered within 500 ms; a frozen
        scheduler is replaced; 10 minutes of full load without a takeover that nobody needed (--kills, --calm-minutes)
"""
import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
import unittest

import cluster
import processes
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import Emulated
from processes import PATIENCE

LINE = ("first", "second")
MODEL = """[[model]]
name = "quick"
slo_ms = 10000
profile = { alpha_ms = 0.1, beta_ms = 1 }
max_batch = 16
input_bytes = 8
output_bytes = 8
"""
QUICK = Emulated("quick", 8)
RESTART = "\n[restart]\nmax_delay_s = 2\n"  # the delay doubles with each of many kills


def asked():
    """Takes its options from the command line, and leaves unittest's there."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--full", action="store_true")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--calm-minutes", type=float, default=10.0)
    given, sys.argv[1:] = options.parse_known_args()
    return given


ASKED = asked()


def limits():
    """A busy machine can be silent for longer than `takeover_ms` usually is."""
    return "request_timeout_ms = 1000\nnode_timeout_ms = 3000" if ASKED.full else "node_timeout_ms = 20000\ntakeover_ms = 20000"


def back_after(clients, moment):
    """Seconds from `moment` to the end of the gap in service: the longest gap that begins within 100 ms of it."""
    ends = clients.finished_at()
    pauses = [(b - a, b) for a, b in zip(ends, ends[1:]) if b > moment and a < moment + 0.1]
    return max(pauses, default=(0, math.inf))[1] - moment


def all_answered_after(clients, moment):
    """Seconds from `moment` until all requests in flight at it, or sent in the 50 ms after it, have their answers."""
    asked = [end for began, end in clients.finished() if began <= moment + 0.05 and end >= moment]
    return max(asked, default=math.inf) - moment


class Failover(ClusterTest):
    def line_cluster(self, **more):
        return Cluster(model_text=MODEL, device='kind = "emulated"', line=LINE, limits=limits() + RESTART, policy='batching = "eager"',
                       **more)

    def state(self, c, node):
        done = subprocess.run([processes.PROGRAM, "ask", c.file, f"node@{node}", "get_state"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def ask_worker(self, c, slot, what, **fields):
        done = subprocess.run([processes.PROGRAM, "ask", c.file, f"gpu_worker/{slot}", what, json.dumps(fields)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def traced_batches(self, c, slot):
        batches, more = [], True
        while more:
            told = self.ask_worker(c, slot, "take_trace", limit=1000)
            self.assertEqual(told["lost"], 0)
            batches, more = batches + told["batches"], told["more"]
        return batches

    def scheduler(self, c):
        return self.state(c, "head")["scheduler"]

    def wait_state(self, c, node, **wanted):
        end = time.monotonic() + PATIENCE
        while any(self.state(c, node).get(k) != v for k, v in wanted.items()):
            self.assertLess(time.monotonic(), end, f"{node} is {self.state(c, node)}, not {wanted}")
            time.sleep(0.05)

    def clients(self, c):
        return Load(c, [QUICK], clients=16, pause=0.002)

    def assert_all_answered(self, clients):
        self.assertEqual(clients.count(200, 429, 503, 504), len(clients.results), clients.summary())
        if ASKED.full:
            self.assertGreater(clients.count(200), 0.9 * len(clients.results), clients.summary())

    def test_a_scheduler_that_is_killed_under_load_is_replaced_at_once(self):
        kills = ASKED.kills if ASKED.full else 3
        with self.line_cluster() as c:
            up = c.start()
            moments = []
            with self.clients(c) as clients:
                for n in range(kills):
                    clients.wait_finished(50)
                    leader = self.scheduler(c)
                    other = LINE[1 - LINE.index(leader)]
                    self.wait_state(c, other, ready=True)
                    pid = up.pid_of(leader)
                    moments.append(time.monotonic())
                    os.kill(pid, signal.SIGKILL)
                    clients.wait_finished(100)
                    self.wait_state(c, "head", scheduler=other)
                    up.wait_node(leader)
                    self.wait_state(c, leader, ready=True, scheduler=other)
                clients.wait_finished(50)
            back = [back_after(clients, m) for m in moments]
            all_back = [all_answered_after(clients, m) for m in moments]
            self.assert_all_answered(clients)
            self.assert_ledger_balances(c)
            self.assertEqual(self.state(c, "head")["takeovers"], kills)
            print(f"{kills} kills under load: service back after {statistics.median(back) * 1e3:.0f} ms in the median, "
                  f"{max(back) * 1e3:.0f} ms at worst, all that waited answered after {max(all_back) * 1e3:.0f} ms at "
                  f"worst; {len(clients.results)} requests, "
                  f"{len(clients.results) - clients.count(200)} not served", file=sys.stderr)
            if ASKED.full:
                self.assertLess(statistics.median(back), 0.1, back)
                self.assertLess(max(all_back), 0.5, all_back)
            self.assertEqual(up.terminate(), 0)

    @unittest.skipUnless(ASKED.full, "a busy machine can stand still as well")
    def test_a_scheduler_that_stood_still_finds_that_it_is_not_the_leader(self):
        for frozen_s in (1.5, 5):  # shorter and longer than the node timeout
            with self.subTest(frozen_s=frozen_s), self.line_cluster(workers=("left", "right")) as c:
                up = c.start()
                pid = up.pid_of("first")
                old = self.state(c, "head")["term"]
                for slot in (0, 1):
                    self.ask_worker(c, slot, "start_trace", capacity=65536, sample=1)
                with self.clients(c) as clients:
                    clients.wait_finished(50)
                    os.kill(pid, signal.SIGSTOP)
                    moment = time.monotonic()
                    clients.wait_finished(200)
                    self.wait_state(c, "head", scheduler="second")
                    time.sleep(max(0, moment + frozen_s - time.monotonic()))
                    os.kill(pid, signal.SIGCONT)
                    clients.wait_finished(200)
                    self.wait_state(c, "first", scheduler="second", ready=True)
                    clients.wait_finished(200)
                self.assert_all_answered(clients)
                self.assert_ledger_balances(c)
                self.assertEqual(self.scheduler(c), "second")
                terms = {self.state(c, n)["term"] for n in ("head", "first", "second", "left", "right")}
                self.assertEqual(len(terms), 1, terms)
                new, = terms
                refused, served = 0, [0, 0]
                for slot in (0, 1):
                    batches = self.traced_batches(c, slot)
                    ran = {term: [b["times"]["started_at"] for b in batches
                                   if not b["refused"] and b["batch"] >> 48 == term & 0x7fff]
                           for term in (old, new)}
                    # Every batch belongs to one of the two terms, and none of the old one ran after one of
                    # the new.
                    self.assertEqual(sum(map(len, ran.values())), sum(1 for b in batches if not b["refused"]))
                    self.assertLess(max(ran[old], default=-math.inf), min(ran[new], default=math.inf), f"slot {slot}")
                    served = [served[0] + len(ran[old]), served[1] + len(ran[new])]
                    refused += sum(1 for b in batches if b["refused"] == "old_term")
                self.assertGreater(min(served), 0, served)
                self.assertEqual(c.metric_of("first", "troupe_scheduler_is_leader"), 0)
                self.assertEqual(c.metric_of("second", "troupe_scheduler_is_leader"), 1)
                self.assertEqual(c.metric_of("first", "troupe_slots"), 0)
                print(f"frozen for {frozen_s} s: service back after {back_after(clients, moment) * 1e3:.0f} ms; of the "
                      f"deposed scheduler nothing ran, {refused} orders were refused", file=sys.stderr)
                self.assertEqual(up.terminate(), 0)

    def test_a_scheduler_that_is_drained_hands_over_and_no_request_is_lost(self):
        with self.line_cluster() as c:
            c.start("--node", "second", ready=None)
            c.start("--node", "worker", ready=None)
            c.start("--node", "head", ready=None)
            first = c.start("--node", "first")
            for node in ("head", "second"):
                self.wait_state(c, node, scheduler="first", ready=True)
            with self.clients(c) as clients:
                clients.wait_finished(50)
                self.assertEqual(first.terminate(), 0)
                clients.wait_finished(100)
            self.assertEqual(clients.count(200), len(clients.results), clients.summary())
            self.assertEqual(self.scheduler(c), "second")

    def test_models_are_deployed_by_the_leader(self):
        with self.line_cluster() as c:
            up = c.start()
            os.kill(up.pid_of("first"), signal.SIGKILL)
            up.wait_error("starting it again")
            self.wait_state(c, "head", scheduler="second", ready=True)
            self.wait_state(c, "first", scheduler="second", ready=True)
            done = subprocess.run([processes.PROGRAM, "undeploy", c.file, "quick", "--wait", "20"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(c.infer("quick", QUICK.body())[0], 404)

    @unittest.skipUnless(ASKED.full, "a busy machine has reasons of its own")
    def test_full_load_is_no_reason_to_take_over(self):
        seconds = ASKED.calm_minutes * 60
        with self.line_cluster() as c:
            c.start()
            load = subprocess.run([processes.PROGRAM, "load", c.url, "--model", "quick", "--rate", "20000",
                                   "--duration", str(seconds), "--json"], capture_output=True, text=True,
                                  timeout=seconds + PATIENCE)
            self.assertEqual(load.returncode, 0, load.stderr)
            total = json.loads(load.stdout)["total"]
            state = self.state(c, "head")
            print(f"{seconds:g} s of full load: {total['offered_rps']:.0f} requests/s offered, "
                  f"{total['goodput_rps']:.0f} served in time; {state['takeovers']} takeovers", file=sys.stderr)
            self.assertEqual((state["scheduler"], state["takeovers"]), ("first", 0))


if __name__ == "__main__":
    cluster.main()
