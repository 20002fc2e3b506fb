"""What the end-to-end tests are made of: model fixtures, clusters of real processes, clients that count.

Standard library only. TROUPE_PROGRAM names the program under test.
"""
import array
import collections
import contextlib
import http.client
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures/onnx"
ALL_FIXTURES = ("encoder", "inception", "mlp", "mobilenet", "resnet_a", "resnet_b")
PROGRAM = os.environ.get("TROUPE_PROGRAM", str(ROOT / "build/dev/troupe"))
PATIENCE = 120  # seconds for what should take less than one: the machine may be very busy


class Fixture:
    """An ONNX model with an input and the output that it must give."""
    CODES = {"float32": ("f", "FP32"), "int64": ("q", "INT64")}

    def __init__(self, name, folder=FIXTURES):
        self.name = name
        self.path = folder / f"{name}.onnx"
        about = json.loads((folder / f"{name}.json").read_text())
        self.input_name, self.input_shape = about["input"]["name"], about["input"]["shape"]
        self.output_name, self.output_shape = about["output"]["name"], about["output"]["shape"]
        code, self.datatype = self.CODES[about["input"]["dtype"]]
        self.input = array.array(code, (folder / f"{name}.in.bin").read_bytes())
        self.output = array.array("f", (folder / f"{name}.out.bin").read_bytes())
        self.rows = self.input_shape[0]

    def body(self, rows=None, slo_ms=None, first=0):
        """A V2 request for `rows` of the rows, from row `first` on."""
        rows = self.rows - first if rows is None else rows
        width = len(self.input) // self.rows
        request = {"inputs": [{"name": self.input_name, "datatype": self.datatype,
                               "shape": [rows] + self.input_shape[1:],
                               "data": list(self.input[first * width:(first + rows) * width])}]}
        if slo_ms:
            request["parameters"] = {"slo_ms": slo_ms}
        return json.dumps(request)

    def distance(self, answer, first=0):
        """Relative L2 distance of an answer's rows from the golden ones."""
        (tensor,) = [o for o in answer["outputs"] if o["name"] == self.output_name]
        width = len(self.output) // self.rows
        expected = self.output[first * width:first * width + len(tensor["data"])]
        if tensor["shape"][1:] != self.output_shape[1:] or len(tensor["data"]) != tensor["shape"][0] * width:
            return math.inf
        return relative_l2(tensor["data"], expected)


def relative_l2(got, expected):
    if len(got) != len(expected) or not len(got):
        return math.inf
    error = math.sqrt(sum((g - e) ** 2 for g, e in zip(got, expected)))
    return error / math.sqrt(sum(e * e for e in expected))


_ports_given = set()


def free_ports(n):
    """Ports that nobody listens on now; a test that runs at the same time would have to be unlucky."""
    sockets = []
    while len(sockets) < n:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        if s.getsockname()[1] in _ports_given:
            s.close()
            continue
        sockets.append(s)
    ports = [s.getsockname()[1] for s in sockets]
    _ports_given.update(ports)
    for s in sockets:
        s.close()
    return ports


def resident_mb(pid):
    """Memory of a process in use, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else math.nan


def descendants(pid):
    """The living processes that `pid` started, and theirs."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child] + descendants(child)
    return found


def cut_connections(pid, others):
    """Resets established TCP connections between these processes; False if the kernel does not let us."""
    try:
        listed = subprocess.run(["ss", "-Htnp", "state", "established"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return False
    ends = collections.defaultdict(set)  # (local, peer) -> pids
    for line in listed.splitlines():
        found = re.search(r"(\S+:\d+)\s+(\S+:\d+).*", line)
        if found:
            ends[found[1], found[2]] |= {int(p) for p in re.findall(r"pid=(\d+)", line)}
    done = False
    for (local, peer), pids in ends.items():
        if pid in pids and ends.get((peer, local), set()) & others:
            host, port = local.rsplit(":", 1)
            peer_host, peer_port = peer.rsplit(":", 1)
            killed = subprocess.run(["ss", "-HKtn", "src", host, "sport", f"= :{port}", "dst", peer_host, "dport",
                                     f"= :{peer_port}"], capture_output=True, text=True)
            done = done or (killed.returncode == 0 and bool(killed.stdout.strip()))
    return done


class Process:
    """A `troupe` process whose lines are read as they come, and which does not outlive its test. `command` starts it
    in another way."""

    def __init__(self, *arguments, env=None, command=None):
        self.arguments = arguments
        self.child = subprocess.Popen([*(command or [PROGRAM]), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env={**os.environ, **(env or {})})
        self.lines = {"stdout": [], "stderr": []}
        self.news = threading.Condition()
        self.readers = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                        for name, stream in (("stdout", self.child.stdout), ("stderr", self.child.stderr))]
        for reader in self.readers:
            reader.start()

    def _read(self, name, stream):
        for line in stream:
            with self.news:
                self.lines[name].append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def output(self):
        return "\n".join(self.lines["stdout"] + self.lines["stderr"])

    def wait_error(self, text):
        """Until a line of standard error contains the text."""
        end = time.monotonic() + PATIENCE
        while not any(text in line for line in self.lines["stderr"]):
            if time.monotonic() > end:
                raise AssertionError(f"troupe {' '.join(self.arguments)}: never said '{text}':\n{self.output()}")
            time.sleep(0.02)

    def wait_node(self, node):
        """The process of a node, once there is one besides this."""
        end = time.monotonic() + PATIENCE
        while (pid := self.pid_of(node)) == self.child.pid:
            assert time.monotonic() < end, f"node {node} has no process"
            time.sleep(0.02)
        return pid

    def wait_line(self, pattern):
        """The first line of standard output that matches."""
        end = time.monotonic() + PATIENCE
        with self.news:
            while True:
                for line in self.lines["stdout"]:
                    if re.search(pattern, line):
                        return line
                over = self.child.poll() is not None and not any(r.is_alive() for r in self.readers)
                if over or time.monotonic() > end:
                    raise AssertionError(f"troupe {' '.join(self.arguments)}: no line '{pattern}'"
                                         f"{', it has ended' if over else ''}:\n{self.output()}")
                self.news.wait(0.1)

    def pid_of(self, node):
        """The process of a node: this one, or a child of it."""
        for pid in descendants(self.child.pid):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"--node" in words and words[words.index(b"--node") + 1] == node.encode():
                    return pid
        return self.child.pid

    def wait(self):
        code = self.child.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
        return code

    def terminate(self):
        """SIGTERM, and the exit code that comes of it."""
        self.child.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        for pid in [self.child.pid, *descendants(self.child.pid)]:
            for s in (signal.SIGCONT, signal.SIGKILL):
                with contextlib.suppress(OSError):
                    os.kill(pid, s)
        self.wait()
        for stream in (self.child.stdout, self.child.stderr):
            stream.close()


class Cluster:
    """Two nodes, `head` (gateway and scheduler) and `worker`, in processes of their own. A context manager.

    `workers` names other or more workers, `doors` more gateways, `device` says what workers run on, and `model_text`
    replaces the models."""

    def __init__(self, models=("mlp",), slo_ms=10000, policy='batching = "eager"',
                 limits="node_timeout_ms = 20000", env=None, workers=("worker",), doors=(), device='kind = "cpu"',
                 model_text=None):
        self.env = env
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        self.file = Path(self.folder.name, "cluster.toml")
        self.http_port, control, *more = free_ports(2 + len(workers) + 2 * len(doors))
        more = iter(more)
        self.door_ports = {}
        other_nodes = ""
        for w in workers:
            other_nodes += f"""[[node]]
name = "{w}"
roles = ["worker"]
control_port = {next(more)}
[[node.device]]
{device}
"""
        for d in doors:
            self.door_ports[d] = next(more)
            other_nodes += f"""[[node]]
name = "{d}"
roles = ["gateway"]
control_port = {next(more)}
http_port = {self.door_ports[d]}
"""
        self.file.write_text(f"""name = "test"
[[node]]
name = "head"
roles = ["gateway", "scheduler"]
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
        done = subprocess.run([PROGRAM, "status", str(self.file), "--json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        return json.loads(done.stdout)

    def metric_of(self, node, name):
        """The sum over all series of that name which the node tells `troupe status`."""
        (status,) = [n for n in self.status()["nodes"] if n["node"] == node]
        values = [m["value"] for m in status["metrics"] if m["name"] == name]
        assert values, f"no metric {name} of node {node}"
        return sum(values)

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def get(self, path):
        return self._ask("GET", path)

    def retry_after(self, path):
        """(status, Retry-After) of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.headers["Retry-After"]

    def post(self, path, body):
        return self._ask("POST", path, body)

    def metric(self, name, **labels):
        """The sum over all series of that name with those labels, as Prometheus would scrape them."""
        code, text = self.get("/metrics")
        assert code == 200, text
        total, found = 0.0, False
        for line in text.splitlines():
            series = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if series and series[1] == name:
                have = dict(re.findall(r'(\w+)="([^"]*)"', series[2] or ""))
                if all(have.get(k) == v for k, v in labels.items()):
                    total, found = total + float(series[3]), True
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
        """Until the model answers; says how often it did not."""
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


class Load:
    """Clients that each send one request after the other until told to stop, and count what became of them."""

    def __init__(self, cluster, fixtures, clients=8, pause=0.0, slo_ms=None, port=None):
        self.cluster, self.fixtures, self.pause, self.slo_ms, self.port = cluster, fixtures, pause, slo_ms, port
        self.lock = threading.Lock()
        self.results = []  # (sent at, took, status or exception, reason, right)
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._client, args=(i,), daemon=True) for i in range(clients)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *failure):
        self.stop()

    def _client(self, number):
        fixture = self.fixtures[number % len(self.fixtures)]
        first = number % fixture.rows
        body = fixture.body(1, self.slo_ms, first)
        while not self.over.is_set():
            began = time.monotonic()
            try:
                status, answer = self.cluster.infer(fixture.name, body, self.port)
                right = status != 200 or fixture.distance(answer, first) <= 1e-4
                reason = answer.get("error", "")
            except (OSError, http.client.HTTPException, ValueError) as e:
                status, reason, right = type(e), str(e), True
            with self.lock:
                self.results.append((began, time.monotonic() - began, status, reason, right))
            self.over.wait(self.pause)

    def wait_finished(self, n):
        """Until n more requests have been answered with 200."""
        goal = self.count(200) + n
        end = time.monotonic() + PATIENCE
        while self.count(200) < goal:
            assert time.monotonic() < end, f"no {n} more answers: {self.summary()}"
            time.sleep(0.02)

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join(PATIENCE)
            assert not t.is_alive(), "a request hangs"

    def count(self, *statuses, reason=""):
        with self.lock:
            return sum(1 for r in self.results if r[2] in statuses and reason in r[3])

    def summary(self):
        with self.lock:
            return collections.Counter((str(r[2]), r[3]) for r in self.results)


class ClusterTest(unittest.TestCase):
    def assert_books_balance(self, cluster):
        """The gateway's ledger balances, and agrees with what the clients were told."""
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
        self.assertLessEqual(dropped, told("request dropped"), cluster.told)  # some at the door, unaccepted


def main():
    """As unittest.main, but the program under test may be the first argument."""
    global PROGRAM
    if len(sys.argv) > 1 and "/" in sys.argv[1]:
        PROGRAM = sys.argv.pop(1)
    unittest.main(module="__main__", verbosity=2)
