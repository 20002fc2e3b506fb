"""A cluster with two nodes of each role, each on a host of its own (network.py), with supervision by the test."""
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import processes
from fixtures import FIXTURES
from network import Network
from processes import Process, resident_mb
from proxies import ProxyNetwork

TASKS = FIXTURES.parent / "llama-tasks"
ROLES = {"gateway": ("gate_a", "gate_b"), "scheduler": ("first", "second"), "worker": ("left", "right"),
         "engine": ("pen_a", "pen_b")}
NODES = tuple(n for names in ROLES.values() for n in names)
ROLE_OF = {n: role for role, names in ROLES.items() for n in names}
HTTP, CONTROL, DATA = 8000, 7700, 7710
NODE_TIMEOUT_S, SLO_S, LLM_TIMEOUT_S = 1.5, 10, 40
MODELS = ("mlp", "encoder")
ENVIRONMENT = {**processes.MEASURED, "UCX_TLS": "tcp,self"}


class ChaosCluster:
    """A context manager. `transport`: "ucx" over TCP, or "tls". `proxies`: nodes on this host, linked by proxies.
    `restarts` counts the starts of each node."""

    def __init__(self, folder, log, transport, proxies):
        self.folder, self.log, self.transport, self.proxies = Path(folder), log, transport, proxies
        self.network = ProxyNetwork(NODES, (CONTROL, DATA)) if proxies else Network(NODES)
        self.file = self.folder / "cluster.toml"
        self.file.write_text(self.text())
        if transport == "tls":
            code, text = self.command("certs", self.folder / "certs", "--cluster", self.file, file=False)
            assert code == 0, text
        self.nodes, self.wanted_down = {}, set()
        self.restarts = {n: 0 for n in NODES}
        self.ended = []  # (node, exit code) of processes that the test did not kill
        self.killed = set()  # pids
        self.lock, self.over = threading.Lock(), threading.Event()

    def text(self):
        nodes = ""
        for name in NODES:
            role = {"engine": "worker", "scheduler": "scheduler" if name == "first" else "standby"}.get(ROLE_OF[name], ROLE_OF[name])
            nodes += (f'[[node]]\nname = "{name}"\nroles = ["{role}"]\nhost = "{self.network.address[name]}"\n'
                      f'control_port = {CONTROL}\n')
            if self.proxies:
                nodes += (f'listen = "{self.network.listen[name]}"\ndata_port = {DATA}\n'
                          + f'http_listen = "{self.network.address[name]}"\n' * (role == "gateway"))
            else:
                nodes += 'data_interface = "eth0"\n'
            nodes += f"http_port = {HTTP}\n" if role == "gateway" else ""
            nodes += '[[node.device]]\nkind = "cpu"\n' if ROLE_OF[name] == "worker" else ""
        models = "".join(f'[[model]]\nname = "{m}"\nsource = "{FIXTURES / m}.onnx"\nslo_ms = {SLO_S * 1000}\nmax_batch = 16\n'
                         for m in MODELS)
        return f"""name = "chaos"
{nodes}[data_lane]
transport = "{self.transport}"
[security]
insecure = true
{'certificates = "certs"' if self.transport == "tls" else ""}
[policy]
batching = "eager"
[limits]
request_timeout_ms = 1000
node_timeout_ms = {int(NODE_TIMEOUT_S * 1000)}
pool_mb = 16
body_mb = 8
drain_timeout_ms = 10000
{models}[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
nodes = ["pen_a", "pen_b"]
routing = "least_loaded"
adapter_slots = 3
adapter_api = true
max_sequences = 8
kv_mb = 4
timeout_s = {LLM_TIMEOUT_S}
"""

    def __enter__(self):
        self.network.pids = lambda: {node: process.child.pid for node, process in self.nodes.items()}
        self.network.__enter__()
        for node in NODES:
            self.start(node)
        threading.Thread(target=self.supervise, daemon=True).start()
        return self

    def __exit__(self, *failure):
        self.over.set()
        with self.lock:
            for process in self.nodes.values():
                process.kill()
        self.network.__exit__(*failure)

    def start(self, node):
        process = Process("up", str(self.file), "--node", node, env=ENVIRONMENT,
                          command=[*self.network.inside(node), processes.PROGRAM])
        self.restarts[node] += 1
        self.nodes[node] = process

    def supervise(self):
        """Restarts nodes that ended, 0.3 s later, and keeps their output."""
        while not self.over.wait(0.3):
            with self.lock:
                for node, process in list(self.nodes.items()):
                    if process.child.poll() is None or self.over.is_set():
                        continue
                    if process.child.pid not in self.killed:
                        self.ended.append((node, process.child.returncode))
                        self.log(f"{node} ended with exit code {process.child.returncode}")
                    self.killed.discard(process.child.pid)  # the kernel may give it to another process
                    process.wait()
                    self.keep_output(node)
                    self.start(node)

    def keep_output(self, node):
        (self.folder / f"{node}.{self.restarts[node]}.log").write_text(self.nodes[node].output() + "\n")

    def pid(self, node):
        return self.nodes[node].child.pid

    def signal(self, node, number):
        with self.lock:
            process = self.nodes[node]
            if number == signal.SIGKILL:
                self.killed.add(process.child.pid)
            if process.child.poll() is None:
                os.kill(process.child.pid, number)
        return process.child.pid

    def command(self, *arguments, seconds=60, file=True):
        """(exit code, output) of a `troupe` command, with this cluster's file as its first argument."""
        try:
            done = subprocess.run([processes.PROGRAM, arguments[0], *([self.file] if file else []), *map(str, arguments[1:])],
                                  capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return -1, f"no answer in {seconds} s"
        return done.returncode, done.stdout + done.stderr

    def status(self):
        _, text = self.command("status", "--json")
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return {"ready": False, "nodes": [], "leader": "", "text": text}

    def leader(self):
        leader = self.status().get("leader") or ""
        return leader.get("node", "") if isinstance(leader, dict) else leader

    def wait_healed(self, seconds):
        """The seconds until all nodes were ready twice in a row; None if they are not in this time."""
        began, good = time.monotonic(), 0
        while good < 2:
            if time.monotonic() - began > seconds:
                return None
            status = self.status()
            good = good + 1 if status["ready"] else 0
            time.sleep(0.3)
        return time.monotonic() - began

    def footprint(self):
        """node -> (threads, descriptors, MB)"""
        return {n: (len(os.listdir(f"/proc/{self.pid(n)}/task")), len(os.listdir(f"/proc/{self.pid(n)}/fd")),
                    round(resident_mb(self.pid(n)))) for n in NODES}

    def terminate(self):
        """Stops gateways first, then standby and scheduler, then the rest; returns the exit codes other than 0."""
        self.over.set()
        bad = {}
        for role in ("gateway", "scheduler", "worker", "engine"):
            for node in reversed(ROLES[role]):
                with self.lock:
                    process = self.nodes[node]
                code = process.terminate()
                self.keep_output(node)
                if code != 0:
                    bad[node] = code
        return bad
