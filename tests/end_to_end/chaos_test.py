#!/usr/bin/env python3
"""A cluster with two nodes of each role under mixed load and seeded faults: every answer is right, and no request is lost.

    tests/end_to_end/chaos_test.py build/dev/troupe --minutes 2 --seed 7

Two gateways, scheduler and standby, two workers with tensor models, and two engines of a language model run on hosts of
their own (network namespaces; where they are forbidden, proxies link the nodes, over TLS). Nodes are killed, frozen, isolated and drained,
connections are reset, links are partitioned in one or both directions, models are deployed, adapters loaded. Sometimes
two of these happen at once.

Invariants:
- Tensors equal the golden outputs. Texts, streams or not, greedy or seeded, equal golden files and the texts of the
  undisturbed cluster at the beginning of the run. Nothing is answered twice, and no request hangs.
- Every request ends as a result, a drop with its reason, or an error. Its connection breaks, or its stream ends early,
  only if its gateway was disturbed.
- Requests that a living peer can serve are served. A fault's window lasts until all nodes are ready again. In windows
  that overlap a request, nodes that are killed, frozen, isolated or drained are *blocked*; so is a worker or an engine
  behind a partition from the request's gateway or from a scheduler. A drop or error is excused only if
  (a) the request's gateway is blocked, or partitioned from a scheduler; or
  (b) all nodes of a role that it needs are blocked (schedulers; workers for tensors, engines for texts); or
  (c) two windows overlap it, and it is late, or was lost with its nodes; or
  (d) it is late, or the worker could not pull its input, and a window overlaps it, and its deadline is less than 2 s
      after the node timeout.
  A busy machine may make one request in fifty late without a fault.
- A single fault is over within a minute: all nodes are ready. Operations succeed unless a fault happens beside them.
- In the end the ledgers balance with nothing in flight, and no slot, block or pool is taken. Threads, descriptors,
  memory and /dev/shm are as before the faults. The cluster drains with exit code 0 and leaves nothing in /dev/shm.
"""
import collections
import json
import random
import sys
import tempfile
import threading
import time

import network
import processes
import seeded_run
from chaos_client import ChaosClient, clients
from chaos_cluster import NODE_TIMEOUT_S, NODES, ROLES, ChaosCluster
from chaos_faults import ChaosFaults

CALM_S = 15  # at the end, without faults
MARGIN_S = 0.5  # a window's end is noticed by then


class Chaos:
    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.problems, self.answers = [], []
        self.lock, self.over = threading.Lock(), threading.Event()

    def clock(self):
        return time.monotonic() - self.began

    def problem(self, text):
        with self.lock:
            self.problems.append(f"at {self.clock():.1f} s: {text}")
        print(f"chaos: PROBLEM at {self.clock():.1f} s: {text}", flush=True)

    def shared_memory(self):
        """(files, bytes). Over TLS there are none, and without a namespace others may have some."""
        return (0, 0) if self.options.proxies else network.shared_memory()

    def log(self, text):
        print(f"chaos: {self.clock():6.1f} s: {text}", flush=True)

    def take(self, answer):
        with self.lock:
            self.answers.append(answer)

    # ---- the rule ----

    def overlapping(self, answer):
        return [w for w in self.faults.windows if w.overlaps(answer.sent - MARGIN_S, answer.ended)]

    def excused(self, answer):
        windows = self.overlapping(answer)
        blocked = set().union(*(w.nodes for w in windows))
        if answer.gateway in blocked:
            return True
        if answer.kind == "broken":
            return False
        apart = set().union(*(w.links for w in windows if not w.name.startswith("cut")))

        def parted(node, others):
            return any(frozenset((node, o)) in apart for o in others)
        if parted(answer.gateway, ROLES["scheduler"]):
            return True
        server = "engine" if answer.what.startswith(("text", "stream")) else "worker"
        blocked |= {n for n in ROLES[server] if parted(n, (answer.gateway, *ROLES["scheduler"]))}
        if any(blocked >= set(ROLES[role]) for role in (server, "scheduler")):
            return True
        late = "late" in answer.reason
        lost = any(x in answer.reason for x in ("lost", "poison", "timeout", "504"))
        if len(windows) > 1 and (late or lost):
            return True
        unreachable = "stale_memory" in answer.reason
        return bool(windows) and (late or unreachable) and answer.deadline_s < NODE_TIMEOUT_S + 2

    def check_answers(self):
        late = 0
        for a in self.answers:
            if a.wrong:
                self.problem(f"wrong: {a}")
            if a.kind == "hang":
                self.problem(f"hangs: {a}")
            if a.kind in ("result", "hang") or self.excused(a):
                continue
            if "late" in a.reason and not self.overlapping(a):
                late += 1
            else:
                self.problem(f"a peer could have served it: {a}, beside {[w.name for w in self.overlapping(a)]}")
        if late > len(self.answers) / 50:
            self.problem(f"{late} of {len(self.answers)} requests were late without a fault")

    # ---- the run ----

    def run(self):
        seed = self.options.seed
        proxies = self.options.proxies
        transport = "tls" if proxies else self.options.transport or ("ucx", "tls")[seed % 2]
        print(f"chaos: seed {seed}, over {transport}{', through proxies' * proxies}", flush=True)
        shm = self.shared_memory()
        with (tempfile.TemporaryDirectory(prefix="troupe-chaos-") as folder,
              ChaosCluster(self.options.logs or folder, self.log, transport, proxies) as c):
            self.cluster, self.client = c, ChaosClient(c, self.clock)
            self.faults = ChaosFaults(c, self.client, random.Random(seed), self.clock, self.problem)
            assert c.wait_healed(processes.PATIENCE) is not None, "the cluster does not start: " + "\n".join(
                p.output() for p in c.nodes.values())
            self.client.record(ROLES["gateway"])
            threads = [threading.Thread(target=f, daemon=True)
                       for f in clients(self.client, ROLES["gateway"], seed, self.options.clients, self.options.pause, self.over, self.take)]
            for t in threads:
                t.start()
            time.sleep(5)
            before, shm_before = c.footprint(), self.shared_memory()
            chance = random.Random(seed + 1)
            end = self.clock() + 60 * self.options.minutes - CALM_S - 5
            while self.clock() < end:
                self.faults.strike()
                self.over.wait(chance.uniform(0.5, 2.5))
            time.sleep(CALM_S)
            self.over.set()
            for t in threads:
                t.join(90)
                if t.is_alive():
                    self.problem("a client does not end")
            self.check_answers()
            self.check_idle()
            self.check_footprint(before, shm_before)
            for node, code in c.ended:
                if code != 0:
                    self.problem(f"{node} ended by itself with exit code {code}")
            bad = c.terminate()
            if bad:
                self.problem(f"exit codes after SIGTERM: {bad}")
            left = self.shared_memory()
            if left != shm:
                self.problem(f"/dev/shm has {left} after the end, {shm} before")
        return self.report()

    def engine_problems(self, i):
        code, text = self.cluster.command("ask", f"llm_engine/{i}", "get_state")
        if code != 0:
            return [text]
        state = json.loads(text)
        return [f"llm_engine/{i}: {k} = {state[k]}" for k in ("running", "waiting") if state[k]] + (
            [f"llm_engine/{i}: {state['kv_blocks_free']} of {state['kv_blocks']} blocks are free"]
            if state["kv_blocks_free"] != state["kv_blocks"] else [])

    def check_idle(self):
        wanted = {"troupe_ledger_balanced": 1, "troupe_requests_in_flight": 0, "troupe_pool_used_bytes": 0,
                  "troupe_queue_requests": 0, "troupe_queue_poison_retries": 0, "troupe_queue_running_batches": 0,
                  "troupe_worker_orders": 0, "troupe_llm_ledger_balanced": 1, "troupe_llm_requests_in_flight": 0}
        end = time.monotonic() + 30
        while True:
            status = self.cluster.status()
            found = {m["name"] for n in status["nodes"] for m in n.get("metrics", ())}
            wrong = [f"{m['name']} = {m['value']} on {n['node']}" for n in status["nodes"] for m in n.get("metrics", ())
                     if m["value"] != wanted.get(m["name"], m["value"])]
            wrong += [f"no metric {m}" for m in wanted.keys() - found]
            wrong += [] if status["ready"] else ["the cluster is not ready"]
            wrong += [w for i in range(len(ROLES["engine"])) for w in self.engine_problems(i)]
            if not wrong or time.monotonic() > end:
                break
            time.sleep(0.5)
        for w in wrong:
            self.problem(w)

    def check_footprint(self, before, shm_before):
        after = self.cluster.footprint()
        for node in NODES:
            (threads, files, mb), (threads_now, files_now, mb_now) = before[node], after[node]
            if threads_now > threads + 2 or files_now > files + 16 or mb_now > 1.2 * mb + 32 * processes.MEMORY_FACTOR:
                self.problem(f"{node} has {threads_now} threads, {files_now} descriptors, {mb_now} MB; before the faults "
                             f"{threads}, {files}, {mb}")
        shm = self.shared_memory()
        if shm[0] > shm_before[0] or shm[1] > shm_before[1] + (16 << 20):
            self.problem(f"/dev/shm has {shm} files and bytes, {shm_before} before the faults")
        self.footprints = f"{before} -> {after}; /dev/shm {shm_before} -> {shm}"

    def report(self):
        kinds = collections.Counter(a.kind for a in self.answers)
        print(f"chaos: seed {self.options.seed}, {self.clock():.0f} s, {len(self.answers)} requests: {dict(kinds)}")
        for kind in ("drop", "error", "broken"):
            for reason, n in collections.Counter(a.reason for a in self.answers if a.kind == kind).most_common():
                print(f"chaos:   {kind} {reason}: {n}")
        print(f"chaos: faults {dict(sorted(self.faults.counts.items()))}")
        healing = sorted(self.faults.healing)
        print(f"chaos: healed after {healing[len(healing) // 2]:.1f} s in the median, {healing[-1]:.1f} s at most, "
              f"from the end of a fault; {self.footprints}")
        if kinds["result"] < 2 * self.clock():
            self.problem("hardly anything was served: the run proves nothing")
        for p in self.problems:
            print(f"chaos: {p}", file=sys.stderr)
        return 1 if self.problems else 0


def main():
    parser = seeded_run.parser(__doc__.splitlines()[0], minutes=2, seed=int(time.time()) % 100000, clients=6, pause=0.2)
    parser.add_argument("--logs", help="an existing folder for the logs of all nodes")
    parser.add_argument("--transport", choices=("ucx", "tls"), help="of the data lane; by default the seed chooses")
    parser.add_argument("--proxies", action="store_true", help="link the nodes by proxies even if namespaces are permitted")
    options = seeded_run.read(parser)
    options.proxies = options.proxies or not network.in_own_namespaces()
    sys.exit(Chaos(options).run())


if __name__ == "__main__":
    main()
