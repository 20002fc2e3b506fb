"""Clusters of real processes, and checks of their ledgers. Standard library only, as in the files beside it."""
import collections
import contextlib
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import processes
from fixtures import FIXTURES
from processes import PATIENCE, Process, free_ports


class Cluster:
    """Two nodes, `head` (gateway and scheduler) and `worker`, in processes of their own. A context manager.

    `workers` names other or more workers, `frontends` more gateways, `line` a scheduler and standbys on nodes of their own,
    `domains` one for each worker, `worker_keys` more keys of workers, `device` says what workers run on, and `model_text` replaces the models; it may have
    other sections, too."""

    def __init__(self, models=("mlp",), slo_ms=10000, policy='batching = "eager"',
                 limits="node_timeout_ms = 20000", env=None, workers=("worker",), frontends=(), device='kind = "cpu"',
                 model_text=None, line=(), domains=(), worker_keys=""):
        self.env = env
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        self.file = Path(self.folder.name, "cluster.toml")
        self.http_port, control, *more = free_ports(2 + len(workers) + 2 * len(frontends) + len(line))
        more = iter(more)
        self.frontend_ports = {}
        other_nodes = ""
        for i, w in enumerate(workers):
            other_nodes += f"""[[node]]
name = "{w}"
roles = ["worker"]
control_port = {next(more)}
{f'domain = "{domains[i]}"' if domains else ""}
{worker_keys}
[[node.device]]
{device}
"""
        for d in frontends:
            self.frontend_ports[d] = next(more)
            other_nodes += f"""[[node]]
name = "{d}"
roles = ["gateway"]
control_port = {next(more)}
http_port = {self.frontend_ports[d]}
"""
        for d in dict.fromkeys(domains):
            other_nodes += f'[[domain]]\nname = "{d}"\n'
        for n in line:
            other_nodes += f"""[[node]]
name = "{n}"
roles = ["{'scheduler' if n == line[0] else 'standby'}"]
control_port = {next(more)}
"""
        self.file.write_text(f"""name = "test"
[[node]]
name = "head"
roles = ["gateway"{'' if line else ', "scheduler"'}]
control_port = {control}
http_port = {self.http_port}
{other_nodes}[policy]
{policy}
[limits]
{limits}
""" + (model_text or "".join(f"""[[model]]
name = "{m}"
source = "{FIXTURES / m}.onnx"
slo_ms = {slo_ms}
profile = "measure"
max_batch = 16
""" for m in models)))
        self.url = f"http://127.0.0.1:{self.http_port}"
        self.processes = []
        self.told = collections.Counter()  # (status, error) of every answer to infer
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for p in self.processes:
            p.kill()
            if p.output():
                print(f"--- troupe {' '.join(p.arguments)}\n{p.output()}\n---", file=sys.stderr)
        self.folder.cleanup()

    def start(self, *arguments, ready=r"^troupe: ready"):
        """`troupe up` of the cluster's file; without arguments the whole cluster."""
        p = Process("up", str(self.file), *arguments, env=self.env)
        self.processes.append(p)
        if ready:
            p.wait_line(ready)
        return p

    def status(self):
        done = subprocess.run([processes.PROGRAM, "status", str(self.file), "--json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        return json.loads(done.stdout)

    def asked(self, actor, command, **fields):
        """The actor's answer to a command."""
        done = subprocess.run([processes.PROGRAM, "ask", self.file, actor, command, json.dumps(fields)],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def metric_of(self, node, name):
        """The sum over all series of that name in the node's `troupe status`."""
        (status,) = [n for n in self.status()["nodes"] if n["node"] == node]
        values = [m["value"] for m in status["metrics"] if m["name"] == name]
        assert values, f"no metric {name} of node {node}"
        return sum(values)

    def ask(self, method, path, body=None, key=None, headers=None):
        """(status, headers, text) of one request, with an API key if one is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            authorised = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request(method, path, body, {**(headers or {}), **authorised})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()

    def get(self, path):
        """(status, text)"""
        status, _, text = self.ask("GET", path)
        return status, text

    def retry_after(self, path):
        """(status, Retry-After) of a GET."""
        status, headers, _ = self.ask("GET", path)
        return status, headers.get("Retry-After")

    def post(self, path, body):
        """(status, text)"""
        status, _, text = self.ask("POST", path, body)
        return status, text

    def metric(self, name, end=None, **labels):
        """The sum over all series of that name with those labels, as scraped by Prometheus."""
        end = end or time.monotonic() + PATIENCE
        code, text = self.get("/metrics")
        assert code == 200, text
        total, found = 0.0, False
        for line in text.splitlines():
            series = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line)
            if series and series[1] == name:
                have = dict(re.findall(r'(\w+)="([^"]*)"', series[2] or ""))
                if all(have.get(k) == v for k, v in labels.items()):
                    total, found = total + float(series[3]), True
        if not found and time.monotonic() < end:  # its actor was too busy to answer in time
            return self.metric(name, end, **labels)
        assert found, f"no metric {name} {labels} in:\n{text}"
        return total

    def infer(self, model, body, port=None):
        """(status, answer) of one request, over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.http_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", f"/v2/models/{model}/infer", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        with self.lock:
            self.told[response.status, answer.get("error", "")] += 1
        return response.status, answer

    def wait_until_served(self, fixture):
        """Waits until the model answers; returns the number of failed attempts."""
        end = time.monotonic() + PATIENCE
        body = fixture.body(1)
        refused = collections.Counter()
        while time.monotonic() < end:
            code, answer = self.infer(fixture.name, body)
            if code == 200:
                assert fixture.distance(answer) <= 1e-4, answer
                return refused
            refused[code] += 1
            time.sleep(0.1)
        raise AssertionError(f"{fixture.name} is not served again: {refused}")


class ClusterTest(unittest.TestCase):
    def assert_ledger_balances(self, cluster):
        """The gateway's ledger balances, and agrees with the clients' counts."""
        end = time.monotonic() + PATIENCE
        while cluster.metric("troupe_requests_in_flight") > 0 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(cluster.metric("troupe_ledger_balanced"), 1)
        accepted, finished, dropped, failed = (cluster.metric(f"troupe_requests_{x}_total")
                                               for x in ("accepted", "finished", "dropped", "failed"))
        self.assertEqual(accepted, finished + dropped + failed)

        def told(beginning):
            return sum(n for (_, error), n in cluster.told.items() if error.startswith(beginning))
        self.assertEqual(finished, sum(n for (code, _), n in cluster.told.items() if code == 200), cluster.told)
        self.assertEqual(failed, told("request failed"), cluster.told)
        self.assertLessEqual(dropped, told("request dropped"), cluster.told)  # some at admission, before acceptance


def main():
    """Like unittest.main, but the program under test may be the first argument."""
    if len(sys.argv) > 1 and "/" in sys.argv[1]:
        processes.PROGRAM = sys.argv.pop(1)
    unittest.main(module="__main__", verbosity=2)
