#!/usr/bin/env python3
"""Mixed load while processes are killed, frozen and disconnected in a seeded order: nothing leaks, hangs or is lost.

    tests/end_to_end/soak_test.py build/dev/troupe --minutes 30 --seed 7     (tools/soak does it with the last build)

What must hold in the end, and is checked:
- every request got one answer, in time and of a kind that it may have; outputs are the golden ones. Only while its
  gateway was down may a client see a broken connection instead.
- every gateway's ledger balances with nothing in flight; no slot of any pool is taken; no batch is under way.
- a process that lived for a minute or more does not grow: after 20 s of warm-up, its memory in the last quarter of its
  life is at most a tenth and 16 MB above that in the first quarter (medians). So that some live long, a gateway and a
  worker are never killed in the first half of the run, the other two never in the second.
- all nodes are up, everything is served again, and the cluster drains with exit code 0.
"""
import collections
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import statistics
import sys
import threading
import time

import processes
import seeded_run
from cluster import Cluster
from fixtures import Fixture
from processes import MEASURED, PATIENCE, cut_connections, resident_mb

SLO_S, TIMEOUT_S, NODE_TIMEOUT_S = 4, 1, 1.5
MACHINE_S = 30  # extra time for a busy machine before a request counts as hanging
GATEWAYS, WORKERS = ("head", "frontend"), ("left", "right")
NODES = GATEWAYS + WORKERS
SPARED = (("frontend", "right"), ("head", "left"))  # not killed in the first half, and in the second
CALM_S = 20  # at the end, without faults


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.began = time.monotonic()
        self.problems = []
        self.lock = threading.Lock()
        self.counts = collections.Counter()  # (kind of request, status)
        self.faults = collections.Counter()
        self.down = {g: [] for g in GATEWAYS}  # [from, until] of outages that clients may notice
        self.killed_at = collections.defaultdict(lambda: -1e9)
        self.memory = collections.defaultdict(list)  # (node, pid) -> [(time, MB)]
        self.calm, self.over = threading.Event(), threading.Event()
        self.fixtures = [Fixture("mlp"), Fixture("encoder")]

    def now(self):
        return time.monotonic() - self.began

    def problem(self, text):
        with self.lock:
            self.problems.append(f"at {self.now():.1f} s: {text}")

    # ---- clients ----

    def connect(self, gateway):
        return http.client.HTTPConnection("127.0.0.1", self.ports[gateway], timeout=SLO_S + TIMEOUT_S + MACHINE_S)

    def client(self, number):
        mine = random.Random(self.options.seed * 1000 + number)
        while not self.over.is_set():
            gateway, fixture = mine.choice(GATEWAYS), mine.choice(self.fixtures)
            kind = mine.choices(("one", "rows", "hurry", "hang up", "bad"), (60, 15, 10, 8, 7))[0]
            sent = self.now()
            try:
                status = getattr(self, "ask_" + kind.replace(" ", "_"))(gateway, fixture, mine)
            except (TimeoutError, socket.timeout):
                status = "hangs"
                self.problem(f"a request '{kind}' to {gateway}, sent at {sent:.1f} s, hangs")
            except (OSError, http.client.HTTPException) as e:
                status = "broken"
                if not self.may_break(gateway, sent):
                    self.problem(f"a connection to {gateway} broke though it was up: {type(e).__name__} {e}")
            with self.lock:
                self.counts[kind, status] += 1
            time.sleep(mine.expovariate(1 / self.options.pause))

    def may_break(self, gateway, sent):
        return any(begin <= self.now() and sent <= end for begin, end in list(map(tuple, self.down[gateway])))

    def post(self, gateway, path, body):
        with contextlib.closing(self.connect(gateway)) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def ask(self, gateway, fixture, rows, first, slo_ms=None):
        status, text = self.post(gateway, f"/v2/models/{fixture.name}/infer", fixture.body(rows, slo_ms, first))
        if status == 200:
            distance = fixture.distance(json.loads(text), first)
            if not distance <= 1e-4:
                self.problem(f"a wrong output of {fixture.name}: {distance}")
        elif status == 500 and b'"poison"' in text:
            pass  # twice among our victims by chance: a queue cannot tell this apart
        elif status not in (429, 503, 504):
            self.problem(f"HTTP {status}: {text[:300]}")
        return status

    def ask_one(self, gateway, fixture, mine):
        return self.ask(gateway, fixture, 1, mine.randrange(fixture.rows))

    def ask_rows(self, gateway, fixture, mine):
        return self.ask(gateway, fixture, fixture.rows, 0)

    def ask_hurry(self, gateway, fixture, mine):
        return self.ask(gateway, fixture, 1, 0, mine.choice((5, 20, 100)))

    def ask_hang_up(self, gateway, fixture, mine):
        with contextlib.closing(self.connect(gateway)) as connection:
            connection.request("POST", f"/v2/models/{fixture.name}/infer", fixture.body(1),
                               {"Content-Type": "application/json"})
            time.sleep(mine.random() * 0.02)
        return "left"

    def ask_bad(self, gateway, fixture, mine):
        path, body, expected = mine.choice((
            ("/v2/models/nobody/infer", "{}", 404),
            (f"/v2/models/{fixture.name}/infer", "{", 400),
            (f"/v2/models/{fixture.name}/infer", '{"inputs": []}', 400),
            (f"/v2/models/{fixture.name}/infer", fixture.body(1).replace('"data": [', '"data": ["x", ', 1), 400)))
        status, text = self.post(gateway, path, body)
        if status != expected and status != 503:
            self.problem(f"{path} with {body[:40]!r}: HTTP {status} instead of {expected}: {text[:200]}")
        return status

    # ---- faults ----

    def harm(self):
        """Injects one fault; returns the seconds until the next."""
        node = self.random.choice(NODES)
        kind = self.random.choices(("kill", "freeze", "cut"), (3, 4, 3))[0]
        spared = node in SPARED[self.now() > 30 * self.options.minutes]
        if kind == "kill" and (spared or self.now() - self.killed_at[node] < 20):  # `up` gives up after 5 in a minute
            kind = "freeze"
        pid = self.up.pid_of(node)
        if pid == self.up.child.pid:
            return 1
        self.faults[kind] += 1
        if kind == "kill":
            self.kill(node, pid)
        elif kind == "freeze":
            self.freeze(node, pid, self.random.choice((0.1, 0.5, 1, 2 * NODE_TIMEOUT_S)))
        else:
            self.cut(node, pid)
        return self.random.uniform(2, 6)

    def kill(self, node, pid):
        self.killed_at[node] = self.now()
        if node in GATEWAYS:
            self.down[node].append([self.now() - MACHINE_S, 1e9])  # also waiting requests
        os.kill(pid, signal.SIGKILL)
        if node in GATEWAYS:
            self.wait_frontend(node)
            self.down[node][-1][1] = self.now()

    def wait_frontend(self, node):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                with contextlib.closing(self.connect(node)) as connection:
                    connection.request("GET", "/v2/health/live")
                    connection.getresponse().read()
                    return
            time.sleep(0.1)
        self.problem(f"gateway {node} does not come back")

    def freeze(self, node, pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def cut(self, node, pid):
        """Breaks the TCP connections between this node and the others, if the kernel can; else freezes it shortly."""
        others = {self.up.pid_of(n) for n in NODES} - {pid, self.up.child.pid}
        if not cut_connections(pid, others):
            self.faults["cut"] -= 1
            self.faults["freeze"] += 1
            self.freeze(node, pid, 0.3)

    # ---- the run ----

    def watch_memory(self):
        while not self.over.is_set():
            for node in NODES:
                with contextlib.suppress(OSError, ValueError):
                    pid = self.up.pid_of(node)
                    if pid != self.up.child.pid:
                        self.memory[node, pid].append((self.now(), resident_mb(pid)))
            self.over.wait(1)

    def run(self):
        with Cluster([f.name for f in self.fixtures], SLO_S * 1000, workers=WORKERS, frontends=("frontend",),
                     limits=f"request_timeout_ms = {TIMEOUT_S * 1000}\nnode_timeout_ms = {int(NODE_TIMEOUT_S * 1000)}\n"
                            "pool_mb = 16\nbody_mb = 8", env=MEASURED) as c:
            self.cluster = c
            self.ports = {"head": c.http_port, **c.frontend_ports}
            self.up = c.start()
            threads = [threading.Thread(target=self.client, args=(i,), daemon=True) for i in range(self.options.clients)]
            threads.append(threading.Thread(target=self.watch_memory, daemon=True))
            for t in threads:
                t.start()
            end = 60 * self.options.minutes - CALM_S
            next_fault = 5.0
            while self.now() < end and not self.problems:
                time.sleep(0.2)
                if self.now() >= next_fault:
                    next_fault = self.now() + self.harm()
            time.sleep(0 if self.problems else CALM_S)
            self.check_served()
            self.over.set()
            for t in threads:
                t.join(SLO_S + TIMEOUT_S + 2 * MACHINE_S)
                if t.is_alive():
                    self.problem("a client does not end")
            self.check_idle()
            self.check_memory()
            code = self.up.terminate()
            if code != 0:
                self.problem(f"troupe up ended with exit code {code}")
            if not self.problems:  # the nodes' logs of the faults do not matter then
                self.up.lines["stderr"].clear()
        return self.report()

    def check_served(self):
        for gateway in GATEWAYS:
            for fixture in self.fixtures:
                end = time.monotonic() + 60
                while (status := self.try_one(gateway, fixture)) != 200:
                    if time.monotonic() > end:
                        self.problem(f"{fixture.name} is not served at {gateway} in the end: {status}")
                        break
                    time.sleep(0.2)

    def try_one(self, gateway, fixture):
        try:
            return self.ask(gateway, fixture, 1, 0)
        except (OSError, http.client.HTTPException) as e:
            return str(e)

    def check_idle(self):
        wanted = {"troupe_ledger_balanced": 1, "troupe_requests_in_flight": 0, "troupe_pool_used_bytes": 0,
                  "troupe_queue_requests": 0, "troupe_queue_poison_retries": 0, "troupe_queue_running_batches": 0,
                  "troupe_worker_orders": 0}
        end = time.monotonic() + 30
        while True:
            status = self.cluster.status()
            wrong = [f"{m['name']} = {m['value']} on {n['node']}" for n in status["nodes"] for m in n.get("metrics", ())
                     if m["value"] != wanted.get(m["name"], m["value"])]
            if not status["ready"]:
                wrong.append("the cluster is not ready")
            if not wrong or time.monotonic() > end:
                break
            time.sleep(0.5)
        for w in wrong:
            self.problem(w)

    def check_memory(self):
        self.longest = {}  # node -> seconds of its longest incarnation, and its memory over that time
        for (node, pid), samples in self.memory.items():
            life = [mb for at, mb in samples if at > samples[0][0] + 20]
            if len(life) < 30:
                continue
            quarter = len(life) // 4
            first, last = statistics.median(life[:quarter]), statistics.median(life[-quarter:])
            lived = samples[-1][0] - samples[0][0]
            if lived > self.longest.get(node, (0, ""))[0]:
                self.longest[node] = lived, f"{node}: {first:.0f} -> {last:.0f} MB in {lived:.0f} s"
            if last > 1.1 * first + 16:
                self.problem(f"{node} grew from {first:.1f} to {last:.1f} MB in {lived:.0f} s")
        for node in NODES:
            if not self.problems and self.longest.get(node, (0, ""))[0] < 20 * self.options.minutes:
                self.problem(f"no life of {node} was long enough to show that it does not leak")

    def report(self):
        answers = collections.Counter()
        for (_, status), n in self.counts.items():
            answers[str(status)] += n
        print(f"soak: seed {self.options.seed}, {self.now():.0f} s, {sum(self.counts.values())} requests "
              f"{dict(sorted(answers.items()))}, faults {dict(self.faults)}; memory {'; '.join(text for _, text in self.longest.values())}")
        if self.counts["one", 200] < self.now():
            self.problem("hardly anything was served: the run proves nothing")
        for p in self.problems:
            print(f"soak: {p}", file=sys.stderr)
        return 1 if self.problems else 0


def main():
    options = seeded_run.read(seeded_run.parser(__doc__.splitlines()[0], minutes=2, seed=1, clients=8, pause=0.15))
    sys.exit(Soak(options).run())


if __name__ == "__main__":
    main()
