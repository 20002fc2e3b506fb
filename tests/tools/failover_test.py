#!/usr/bin/env python3
"""Schedulers that are killed, frozen and drained while a standby is there: service is back at once, nothing is lost.

    tests/tools/failover_test.py build/release/troupe --full     with bounds that only a quiet machine keeps:
        20 kills, service back within 100 ms in the median and 500 ms at worst; 10 minutes of full load without a
        takeover that nobody needed (--kills, --calm-minutes)
"""
import argparse
import http.client
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import cluster
import processes
from cluster import Cluster, ClusterTest
from processes import PATIENCE

LINE = ("first", "second")
LIMITS = "request_timeout_ms = 1000\nnode_timeout_ms = 3000"
MODEL = """[[model]]
name = "quick"
slo_ms = 2000
profile = { alpha_ms = 0.1, beta_ms = 1 }
max_batch = 16
input_bytes = 8
output_bytes = 8
"""
BODY = json.dumps({"inputs": [{"name": "input", "datatype": "UINT8", "shape": [1, 8], "data": [1, 2, 3, 4, 5, 6, 7, 8]}]})
FULL = argparse.Namespace(on=False, kills=20, calm_minutes=10.0)


class Clients:
    """Clients that keep their connections and send one request after the other; every answer is noted."""

    def __init__(self, port, number=16, pause=0.002):
        self.port, self.pause = port, pause
        self.answers = []  # (sent, answered, status or exception, error)
        self.lock, self.over = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._client, daemon=True) for _ in range(number)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *failure):
        self.stop()

    def _client(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not self.over.is_set():
            sent = time.monotonic()
            try:
                connection.request("POST", "/v2/models/quick/infer", BODY, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
                status, error = response.status, answer.get("error", "")
            except (OSError, http.client.HTTPException, ValueError) as e:
                status, error = type(e).__name__, str(e)
                connection.close()
            with self.lock:
                self.answers.append((sent, time.monotonic(), status, error))
            self.over.wait(self.pause)
        connection.close()

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join(PATIENCE)
            assert not t.is_alive(), "a request hangs"

    def good(self, since=0.0):
        with self.lock:
            return sorted(answered for _, answered, status, _ in self.answers if status == 200 and answered >= since)

    def wait_good(self, n):
        since, end = time.monotonic(), time.monotonic() + PATIENCE
        while len(self.good(since)) < n:
            assert time.monotonic() < end, f"no {n} more answers"
            time.sleep(0.02)


def back_after(clients, moment):
    """Seconds from `moment` to the end of the longest pause between two answers that begins within a second of it."""
    times = [t for t in clients.good(moment - 1) if t < moment + PATIENCE]
    pauses = [(b - a, b) for a, b in zip(times, times[1:]) if b > moment and a < moment + 1]
    return max(pauses)[1] - moment


class Failover(ClusterTest):
    def line_cluster(self, **more):
        return Cluster(model_text=MODEL, device='kind = "emulated"', line=LINE, limits=LIMITS, policy='batching = "eager"',
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

    def assert_all_answered(self, clients, good=0.9):
        told = [(status, error) for _, _, status, error in clients.answers]
        odd = [t for t in told if t[0] not in (200, 429, 503, 504)]
        self.assertFalse(odd, f"{len(odd)} of {len(told)}")
        self.assertGreater(sum(1 for status, _ in told if status == 200), good * len(told), told[-20:])

    def assert_ledger_balances(self, c, clients):
        end = time.monotonic() + PATIENCE
        while c.metric("troupe_requests_in_flight") > 0 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(c.metric("troupe_ledger_balanced"), 1)
        self.assertEqual(c.metric("troupe_requests_finished_total"), sum(1 for a in clients.answers if a[2] == 200))

    def test_a_scheduler_that_is_killed_under_load_is_replaced_at_once(self):
        kills = FULL.kills if FULL.on else 3
        with self.line_cluster() as c:
            up = c.start()
            back = []
            with Clients(c.http_port) as clients:
                for n in range(kills):
                    clients.wait_good(50)
                    holder = self.scheduler(c)
                    other = LINE[1 - LINE.index(holder)]
                    self.wait_state(c, other, ready=True)
                    pid = up.pid_of(holder)
                    moment = time.monotonic()
                    os.kill(pid, signal.SIGKILL)
                    clients.wait_good(100)
                    back.append(back_after(clients, moment))
                    self.wait_state(c, "head", scheduler=other)
                    # `up` gives up a node that dies too often within a minute.
                    pause = time.monotonic() + (13 if kills > 5 else 0)
                    up.wait_node(holder)
                    self.wait_state(c, holder, ready=True, scheduler=other)
                    while time.monotonic() < pause:
                        time.sleep(0.1)
                clients.wait_good(50)
            self.assert_all_answered(clients)
            self.assert_ledger_balances(c, clients)
            self.assertEqual(self.state(c, "head")["takeovers"], kills)
            # A killed scheduler took nothing with it.
            lost = [a for a in clients.answers if a[2] != 200]
            print(f"{kills} kills under load: service back after {statistics.median(back) * 1e3:.0f} ms in the median, "
                  f"{max(back) * 1e3:.0f} ms at worst; {len(clients.answers)} requests, {len(lost)} not served",
                  file=sys.stderr)
            if FULL.on:
                self.assertLess(statistics.median(back), 0.1, back)
                self.assertLess(max(back), 0.5, back)
            self.assertEqual(up.terminate(), 0)

    def test_a_scheduler_that_stood_still_finds_itself_deposed(self):
        for frozen_s in (1.5, 5):  # shorter and longer than the node timeout
            with self.subTest(frozen_s=frozen_s), self.line_cluster(workers=("left", "right")) as c:
                up = c.start()
                pid = up.pid_of("first")
                old = self.state(c, "head")["reign"]
                for slot in (0, 1):
                    self.ask_worker(c, slot, "start_trace", capacity=65536, sample=1)
                with Clients(c.http_port) as clients:
                    clients.wait_good(50)
                    os.kill(pid, signal.SIGSTOP)
                    moment = time.monotonic()
                    clients.wait_good(200)
                    self.wait_state(c, "head", scheduler="second")
                    time.sleep(max(0, moment + frozen_s - time.monotonic()))
                    os.kill(pid, signal.SIGCONT)
                    clients.wait_good(200)
                    self.wait_state(c, "first", scheduler="second", ready=True)
                    clients.wait_good(200)
                self.assert_all_answered(clients)
                self.assert_ledger_balances(c, clients)
                self.assertEqual(self.scheduler(c), "second")
                reigns = {self.state(c, n)["reign"] for n in ("head", "first", "second", "left", "right")}
                self.assertEqual(len(reigns), 1, reigns)
                new, = reigns
                refused, served = 0, [0, 0]
                for slot in (0, 1):
                    batches = self.traced_batches(c, slot)
                    ran = {reign: [b["times"]["started_at"] for b in batches
                                   if not b["refused"] and b["batch"] >> 48 == reign & 0x7fff]
                           for reign in (old, new)}
                    # Every batch that ran is of one of the two reigns, and none of the old one after one of the new.
                    self.assertEqual(sum(map(len, ran.values())), sum(1 for b in batches if not b["refused"]))
                    self.assertLess(max(ran[old], default=-math.inf), min(ran[new], default=math.inf), f"slot {slot}")
                    served = [served[0] + len(ran[old]), served[1] + len(ran[new])]
                    refused += sum(1 for b in batches if b["refused"] == "old_epoch")
                self.assertGreater(min(served), 0, served)
                self.assertEqual(c.metric_of("first", "troupe_scheduler_in_office"), 0)
                self.assertEqual(c.metric_of("second", "troupe_scheduler_in_office"), 1)
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
            with Clients(c.http_port) as clients:
                clients.wait_good(50)
                self.assertEqual(first.terminate(), 0)
                clients.wait_good(100)
            self.assertEqual({a[2] for a in clients.answers}, {200})
            self.assertEqual(self.scheduler(c), "second")

    def test_models_are_deployed_by_whoever_is_in_office(self):
        with self.line_cluster() as c:
            up = c.start()
            os.kill(up.pid_of("first"), signal.SIGKILL)
            up.wait_error("starting it again")
            self.wait_state(c, "head", scheduler="second", ready=True)
            self.wait_state(c, "first", scheduler="second", ready=True)
            done = subprocess.run([processes.PROGRAM, "undeploy", c.file, "quick", "--wait", "20"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(c.infer("quick", BODY)[0], 404)

    def test_full_load_is_no_reason_to_take_over(self):
        seconds = FULL.calm_minutes * 60 if FULL.on else 10
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
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--full", action="store_true")
    options.add_argument("--kills", type=int, default=FULL.kills)
    options.add_argument("--calm-minutes", type=float, default=FULL.calm_minutes)
    given, sys.argv[1:] = options.parse_known_args()
    FULL.on, FULL.kills, FULL.calm_minutes = given.full, given.kills, given.calm_minutes
    cluster.main()
