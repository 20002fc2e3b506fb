"""Faults of a ChaosCluster, one at a time or two at once, each counted where it hit."""
import collections
import json
import random
import signal
import threading
import time
from dataclasses import dataclass, field

from chaos_client import GOLDEN
from chaos_cluster import NODES, ROLES, TASKS
from fixtures import FIXTURES, Fixture

HEAL_S = 60  # a whole cluster is ready again after that at the latest; usual are 2 to 5 s
FOREVER = 1e9


@dataclass
class Window:
    """A fault from `begin` until the cluster has healed. `nodes` cannot serve meanwhile; `links` are pairs of nodes that
    may not reach each other."""
    name: str
    begin: float
    nodes: set = field(default_factory=set)
    links: set = field(default_factory=set)
    end: float = FOREVER

    def overlaps(self, sent, ended):
        return self.begin <= ended and sent <= self.end


class ChaosFaults:
    """Draws from `chance`; problems go to `problem`."""

    def __init__(self, cluster, client, chance: random.Random, clock, problem):
        self.cluster, self.client, self.chance, self.clock, self.problem = cluster, client, chance, clock, problem
        self.windows, self.counts = [], collections.Counter()
        self.deck, self.healing = [], []

    def draw(self):
        """(kind, role) of the next fault: each once, in a random order, then again."""
        if not self.deck:
            self.deck = [(kind, role) for role in ROLES for kind in ("kill", "freeze", "cut", "partition", "drain")]
            self.deck += [("one way", self.chance.choice(list(ROLES))), ("isolate", self.chance.choice(list(ROLES))),
                          ("deploy", ""), ("adapter", ""), ("deploy", ""), ("adapter", "")]
            self.chance.shuffle(self.deck)
        return self.deck.pop()

    def strike(self):
        """One fault, or two at once in a fifth of the cases, until the cluster has healed."""
        two = self.chance.random() < 0.2
        drawn = [self.draw() for _ in range(1 + two)]
        began = self.clock()
        threads = []
        for kind, role in drawn:
            node = self.chance.choice(ROLES[role]) if role else ""
            if role == "scheduler" and self.chance.random() < 0.7:  # rather the leader than the standby
                node = self.cluster.leader() or node
            seed = self.chance.random()
            method = getattr(self, kind.replace(" ", "_"))
            threads.append(threading.Thread(target=self.guard, args=(method, node, random.Random(seed), two)))
        first = len(self.windows)
        for t in threads:
            t.start()
            time.sleep(self.chance.uniform(0, 1) if two else 0)
        for t in threads:
            t.join()
        took = self.cluster.wait_healed(HEAL_S)
        if took is None:
            status = self.cluster.status()
            waiting = {n["node"]: n.get("error", "waiting") for n in status["nodes"] if not n.get("ready")}
            self.problem(f"not healed {HEAL_S} s after {drawn} at {began:.1f} s: {waiting}")
        else:
            self.healing.append(took)
        for w in self.windows[first:]:
            w.end = self.clock()

    def guard(self, method, node, chance, beside):
        try:
            method(node, chance, beside)
        except Exception as e:  # a thread's exception is a problem of the run
            self.problem(f"{method.__name__} {node}: {type(e).__name__} {e}")

    def open(self, name, nodes=(), links=()):
        window = Window(name, self.clock(), set(nodes), set(links))
        self.windows.append(window)
        self.counts[name] += 1
        print(f"chaos: {window.begin:6.1f} s: {name}", flush=True)
        return window

    # ---- kinds ----

    def kill(self, node, chance, beside):
        self.open(f"kill {node}", [node])
        self.cluster.signal(node, signal.SIGKILL)
        time.sleep(0.8)

    def freeze(self, node, chance, beside):
        seconds = chance.choice((0.1, 0.4, 1, 2, 3, 5))
        self.open(f"freeze {node}", [node])
        self.cluster.signal(node, signal.SIGSTOP)
        time.sleep(seconds)
        self.cluster.signal(node, signal.SIGCONT)
        time.sleep(0.3)

    def peer_of(self, node, chance):
        return chance.choice([n for n in NODES if n != node])

    def cut(self, node, chance, beside):
        peer = self.peer_of(node, chance)
        self.open(f"cut {node} - {peer}", links=[frozenset((node, peer))])
        self.cluster.network.cut(node, peer)
        time.sleep(1.5)

    def partition(self, node, chance, beside, name="partition", one_way=False):
        peer = self.peer_of(node, chance)
        self.open(f"{name} {node} {'>' if one_way else '-'} {peer}", links=[frozenset((node, peer))])
        rules = self.cluster.network.partition({(node, peer)} if one_way else {(node, peer), (peer, node)})
        time.sleep(chance.uniform(0.3, 6))
        self.cluster.network.heal(rules)
        time.sleep(2)

    def one_way(self, node, chance, beside):
        self.partition(node, chance, beside, "one way", True)

    def isolate(self, node, chance, beside):
        self.open(f"isolate {node}", [node])
        rules = self.cluster.network.partition({p for n in NODES if n != node for p in ((node, n), (n, node))})
        time.sleep(chance.uniform(0.3, 6))
        self.cluster.network.heal(rules)
        time.sleep(2)

    def drain(self, node, chance, beside):
        self.open(f"drain {node}", [node])
        ended = len(self.cluster.ended)
        code, text = self.cluster.command("drain", node, "--wait", 30)
        if code != 0 and not beside:
            self.problem(f"troupe drain {node}: {code} {text}")
        end = time.monotonic() + 3
        while (node, 0) not in self.cluster.ended[ended:]:
            if time.monotonic() > end:
                if not beside:
                    self.problem(f"drained {node} ended with {self.cluster.ended[ended:]} instead of 0")
                break
            time.sleep(0.1)
        time.sleep(0.8)

    # ---- operations: they must succeed alone; beside a fault they may fail, and are undone ----

    def expect(self, what, right, beside, seen):
        if not right and not beside:
            self.problem(f"{what}: {seen}")

    def deploy(self, node, chance, beside):
        self.open("deploy")
        name, fixture = "extra", Fixture("mlp")
        code, text = self.cluster.command("deploy", "--name", name, "--source", FIXTURES / "mlp.onnx", "--slo-ms", 10000,
                                          "--max-batch", 16, "--wait", 30, seconds=90)
        self.expect("troupe deploy", code == 0, beside, text)
        fixture.name = name
        for gateway in ROLES["gateway"]:
            answer = self.client.tensor(gateway, fixture, 1, 0, 10)
            self.expect("a deployed model", answer.kind == "result", beside, answer)
            if answer.wrong:
                self.problem(f"a deployed model: {answer}")
        self.undo("undeploy", lambda: self.cluster.command("undeploy", name, "--wait", 30, seconds=90), beside,
                  lambda code, text: code == 0 or "no model" in text or "not deployed" in text)
        for gateway in ROLES["gateway"]:
            answer = self.client.tensor(gateway, fixture, 1, 0, 10)
            self.expect("an undeployed model", answer.reason.startswith("404"), beside, answer)

    def adapter(self, node, chance, beside):
        self.open("adapter")
        case = chance.choice([c for c in GOLDEN if c["adapter"]])
        name = f"guest-{self.counts['adapter']}"
        gateways = list(ROLES["gateway"])
        chance.shuffle(gateways)
        load = {"lora_name": name, "lora_path": str(TASKS / "adapters" / case["adapter"])}
        code, text = self.post(gateways[0], "/v1/load_lora_adapter", load)
        self.expect("load an adapter", code == 200, beside, (code, text))
        for stream in (False, True):
            answer = self.client.golden(gateways[0], case, stream, name)
            self.expect("a loaded adapter", answer.kind == "result", beside, answer)
            if answer.wrong:
                self.problem(f"a loaded adapter: {answer}")
        self.undo("unload an adapter", lambda: self.post(gateways[0], "/v1/unload_lora_adapter", {"lora_name": name}), beside,
                  lambda code, text: code in (200, 404))

    def undo(self, what, ask, beside, done):
        """Repeats `ask` until it is done: at once alone, within a minute beside a fault."""
        end = time.monotonic() + (60 if beside else 0)
        while not done(*(last := ask())):
            if time.monotonic() > end:
                self.problem(f"{what}: {last}")
                return
            time.sleep(1)

    def post(self, gateway, path, body):
        try:
            status, got, _ = self.client.post(gateway, path, json.dumps(body), lambda r: r.read(), 30)
            return status, got.decode()
        except OSError as e:
            return 0, str(e)
