#!/usr/bin/env python3
"""Every error has one clear message and the right exit code; a running cluster stays up."""
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, ROOT, Fixture
from processes import PATIENCE, eventually, run


class BadInput(unittest.TestCase):
    """2 is for usage and bad input."""

    def refuses(self, arguments, *words, code=2):
        got, out, err = run(*arguments)
        self.assertEqual(got, code, out + err)
        message = err or out
        for word in words:
            self.assertIn(word, message)
        self.assertLess(len(message.splitlines()), 6, message)

    def test_usage(self):
        self.refuses([], "subcommand")
        self.refuses(["nonsense"], "nonsense")
        self.refuses(["up"], "file")
        self.refuses(["load", "http://127.0.0.1:1", "--arrivals", "often"], "arrivals")

    def test_a_cluster_file_that_is_not_there(self):
        for command in ("up", "check", "status"):
            with self.subTest(command):
                self.refuses([command, "/nowhere/cluster.toml"], "/nowhere/cluster.toml")

    def test_a_cluster_file_with_a_mistake_is_named_with_its_place(self):
        with Cluster() as c:
            text = c.file.read_text().replace("slo_ms", "slo_mss")
            c.file.write_text(text)
            line = 1 + text[:text.index("slo_mss")].count("\n")
            for command in ("up", "check"):
                with self.subTest(command):
                    self.refuses([command, c.file], f"cluster.toml:{line}:", "slo_mss", "slo_ms")

    def test_a_model_file_that_no_worker_would_load(self):
        with Cluster() as c:
            model = Path(c.folder.name, "other.onnx")
            text = re.sub('(?m)^source = .*', f'source = "{model}"', c.file.read_text())
            c.file.write_text(text)
            line = 1 + text[:text.index("source")].count("\n")
            for content, size, said in ((b"no model" * 100, 800, "not an ONNX model"), (b"\x08\x07", 20 << 30, "at most 2147483647"),
                                        (b"", 1 << 30, "begins with a zero byte")):
                with self.subTest(said):
                    model.write_bytes(content)
                    os.truncate(model, size)
                    began = time.monotonic()
                    self.refuses(["check", c.file], f"cluster.toml:{line}:", str(model), said)
                    self.assertLess(time.monotonic() - began, PATIENCE / 12)

    def test_an_unknown_node(self):
        with Cluster() as c:
            self.refuses(["up", c.file, "--node", "nobody"], "nobody")

    def test_more_memory_than_the_machine_has_is_refused_before_any_is_taken(self):
        with Cluster(limits="pool_mb = 1048576") as c:
            self.refuses(["up", c.file], "limits.pool_mb", "MiB of memory left")
            self.refuses(["up", c.file, "--node", "head"], "lower limits.pool_mb", code=1)

    def test_too_little_shared_memory_or_locked_memory_is_refused_before_any_is_taken(self):
        for prepare, environment, words in (
                ("mount -t tmpfs -o size=16m tmpfs /dev/shm", {},
                 ["/dev/shm has 16 MiB left, and 2 nodes of this host need 528 MiB there", "--shm-size=528m", "limits.pool_mb"]),
                ("mount -t tmpfs tmpfs /sys/class && mkdir -p /sys/class/infiniband/mlx5_0 && ulimit -l 64", {"UCX_TLS": "rc,self"},
                 ["node 'head' locks 256 MiB for RDMA and may lock 0 MiB", "ulimit -l", "limits.pool_mb"])):
            with self.subTest(words[0]), Cluster() as c:
                limited = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
                           f'{prepare} && "$@"', "sh"]
                if subprocess.run([*limited, "true"], capture_output=True).returncode != 0:
                    self.skipTest("no mount namespaces")
                for arguments, code in ((("up", c.file), 2), (("up", c.file, "--node", "head"), 1), (("check", c.file), 0)):
                    done = subprocess.run([*limited, processes.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                                          env={**os.environ, **environment})
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    if code != 1:
                        for word in words:
                            self.assertIn(word, done.stderr)

    def test_a_model_file_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            rubbish = Path(folder, "rubbish.onnx")
            rubbish.write_bytes(b"no model" * 100)
            out = Path(folder, "out.bin")
            self.refuses(["profile", "--model-file", rubbish], "rubbish.onnx")
            self.refuses(["infer", "--model-file", rubbish, "--input", rubbish, "--output", out], "rubbish.onnx")
            self.assertFalse(out.exists())

    def test_an_input_of_the_wrong_size(self):
        fixture = Fixture("mlp")
        with tempfile.TemporaryDirectory() as folder:
            short = Path(folder, "short.bin")
            short.write_bytes(b"123")
            self.refuses(["infer", "--model-file", fixture.path, "--input", short, "--output", short], "short.bin")

    def test_a_url_or_a_file_that_cannot_be_used_is_named(self):
        nowhere = "/nowhere/it"
        missing = "cannot be read: No such file or directory"
        url, model = "http://127.0.0.1:1", Fixture("mlp").path
        completions = ["--completions", "--model", "m", "--prompt", "x", "--concurrency", 1]
        trace = ROOT / "examples/traces/mooncake.jsonl"
        with tempfile.TemporaryDirectory() as folder:
            for arguments, said in (
                    (["load", "ftp://foo/bar"], 'load: "ftp://foo/bar" is not http://HOST:PORT'),
                    (["load", "ftp://foo/bar", *completions], 'load: "ftp://foo/bar" is not http://HOST:PORT'),
                    (["replay", trace, "ftp://foo/bar", "--model", "m"], 'troupe: "ftp://foo/bar" is not http://HOST:PORT'),
                    (["load", url, "--input", nowhere], f"load: {nowhere}: {missing}"),
                    (["load", url, "--input", folder], f"load: {folder}: cannot be read: it is a directory"),
                    (["load", url, "--key-file", nowhere], f"load: {nowhere} {missing}"),
                    (["load", url, *completions, "--key-file", nowhere], f"load: {nowhere} {missing}"),
                    (["chat", url, "--model", "m", "--key-file", nowhere], f"chat: {nowhere} {missing}"),
                    (["replay", trace, url, "--model", "m", "--key-file", nowhere], f"troupe: {nowhere} {missing}"),
                    (["replay", trace, "--simulate", nowhere], f"troupe: {nowhere}: {missing}"),
                    (["infer", "--model-file", model, "--input", nowhere, "--output", "out"], f"{nowhere}: {missing}"),
                    (["infer", "--model-file", model, "--input", folder, "--output", "out"],
                     f"{folder}: cannot be read: it is a directory")):
                with self.subTest(arguments):
                    self.assertEqual(run(*arguments), (2, "", said + "\n"))

    def test_whole_numbers_have_a_range(self):
        for arguments in (["bench", "fabric", "--repetitions", 0], ["bench", "fabric", "--repetitions", -1],
                          ["bench", "partition", "--steps", -1], ["bench", "partition", "--random-tries", -1],
                          ["bench", "partition", "--seed", -1], ["trace", "x.toml", "--requests", -1],
                          ["trace", "x.toml", "--sample", 0], ["simulate", "x.toml", "--why", -1], ["traffic", "--seed", -1],
                          ["replay", "x.csv", "--seed", -1], ["migrate", "x.toml", "1", "--engine", -1],
                          ["drain", "x.toml", "--engine", -1], ["generate", "--ids", "1,-1"]):
            with self.subTest(arguments):
                self.refuses(arguments, arguments[-2], "must be a whole number in")

    def test_a_rate_that_no_run_could_have_is_refused(self):
        emulated = ROOT / "examples/emulated/cluster.toml"
        with tempfile.TemporaryDirectory() as folder:
            workload = Path(folder, "workload.toml")
            workload.write_text("duration_s = 200\nrate_rps = 1e-6\n[[segment]]\nat_s = 10\nrate_rps = 100\n")
            self.refuses(["simulate", emulated, "--workload", workload],
                         "workload.toml:5:12: segment.rate_rps: 100 requests a second are more than 1000000 times")

    def test_a_gpu_that_is_not_there(self):
        fixture = Fixture("mlp")
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out.bin")
            commands = (["profile", "--model-file", fixture.path],
                        ["infer", "--model-file", fixture.path, "--input", fixture.path, "--output", out],
                        ["bench", "infer", "--models", FIXTURES])
            for command in commands:
                with self.subTest(command):
                    code, _, err = run(*command, "--device", "cuda", "--gpu", 4095)
                    self.assertEqual(code, 2, err)
                    self.assertRegex(err, "^--device cuda: this build has no CUDA|4095")
                    self.assertEqual(len(err.splitlines()), 1, err)
                    self.refuses([*command, "--device", "tpu"], "--device tpu", "cpu or cuda")
                    self.refuses([*command, "--gpu", 0], "--gpu", "--device cuda")
                    self.refuses([*command, "--exact"], "--exact", "--device cuda")
            self.assertFalse(out.exists())
        self.refuses(["profile", "--model", FIXTURES, "--device", "cuda"], "--model-file")


class Starting(ClusterTest):
    """1 is for failures, 2 for models of the cluster file."""

    def fails_to_start(self, c, *arguments, code=1):
        p = c.start(*arguments, ready=None)
        self.assertEqual(p.wait(), code, p.output())
        self.assertEqual(p.lines["stdout"], [])
        return "\n".join(p.lines["stderr"])

    def test_a_model_with_an_operator_that_is_not_known(self):
        with Cluster() as c:
            model = Path(c.folder.name, "odd.onnx")
            model.write_bytes(FIXTURES.joinpath("mlp.onnx").read_bytes().replace(b"Tanh", b"Tonh"))
            c.file.write_text(c.file.read_text().replace(str(FIXTURES / "mlp.onnx"), str(model)))
            message = self.fails_to_start(c, code=2)
            self.assertEqual(len(processes.without_log(message).splitlines()), 1, message)
            self.assertIn("odd.onnx", message)
            self.assertIn("Tonh", message)

    def test_a_port_that_is_in_use(self):
        for which in ("http_port", "control_port"):
            with self.subTest(which), Cluster() as c, socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                lines = c.file.read_text().splitlines()
                at = next(i for i, line in enumerate(lines) if line.startswith(which))
                lines[at] = f"{which} = {port}"
                c.file.write_text("\n".join(lines))
                message = self.fails_to_start(c)
                self.assertIn(str(port), message)
                self.assertIn("in use", message)
                self.assertIn(which, message)
                self.assertIn("node 'head'", message)

    def test_a_node_started_with_another_file_is_sent_away_and_the_cluster_serves_on(self):
        fixture = Fixture("mlp")
        with Cluster() as c:
            c.start()
            other = Path(c.folder.name, "other.toml")
            other.write_text(c.file.read_text().replace("max_batch = 16", "max_batch = 8")
                             .replace(c.file.read_text().split("control_port = ")[2].split("\n")[0],
                                      str(cluster.free_ports(1)[0])))
            p = cluster.Process("up", str(other), "--node", "worker")
            c.processes.append(p)
            self.assertEqual(p.wait(), 1)
            self.assertIn("file", p.output())
            self.assertEqual(c.infer("mlp", fixture.body())[0], 200)


class Serving(ClusterTest):
    def test_bad_requests_are_refused_and_good_ones_served(self):
        fixture = Fixture("mlp")
        good = json.loads(fixture.body(1))

        def changed(**how):
            return json.dumps({"inputs": [{**good["inputs"][0], **how}]})

        with Cluster() as c:
            c.start()
            cases = {
                "no JSON": ("mlp", "{", 400, ""),
                "no inputs": ("mlp", "{}", 400, "inputs"),
                "a wrong name": ("mlp", changed(name="x"), 400, "x"),
                "a wrong type": ("mlp", changed(datatype="INT64"), 400, "FP32"),
                "a wrong shape": ("mlp", changed(shape=[1, 65]), 400, "65"),
                "too few numbers": ("mlp", changed(data=[1.0]), 400, "64"),
                "text for numbers": ("mlp", changed(data=["a"] * 64), 400, ""),
                "too many rows": ("mlp", changed(shape=[17, 64], data=[0.0] * 17 * 64), 400, "16"),
                "an unknown model": ("nobody", fixture.body(1), 404, "nobody"),
            }
            for what, (model, body, expected, word) in cases.items():
                with self.subTest(what):
                    code, answer = c.infer(model, body)
                    self.assertEqual(code, expected, answer)
                    self.assertIn(word, answer["error"])
            self.assertEqual(c.get("/nowhere")[0], 404)
            self.assertEqual(c.get("/v2/models/mlp/infer")[0], 405)
            for body, expected in (('{"ready": true}', 200), ("[" * 4096, 400), (" " * 4096 + "{}", 400)):
                self.assertEqual(c.post("/v2/repository/index", body)[0], expected, body[:20])
            with socket.create_connection(("127.0.0.1", c.http_port), PATIENCE) as s:
                s.sendall(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
                self.assertTrue(s.makefile("rb").readline().startswith(b"HTTP/1.1 400"))
            code, answer = c.infer("mlp", fixture.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(fixture.distance(answer), 1e-4)
            self.assert_ledger_balances(c)

    def test_large_bodies_leave_no_memory_behind(self):
        with Cluster(limits="body_mb = 64\nhttp_bodies_mb = 512", env=processes.MEASURED) as c:
            gateway = c.start().pid_of("head")
            body = b'{"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 64], "data": [' + b"0," * (30 << 20)
            with concurrent.futures.ThreadPoolExecutor(2) as clients:
                list(clients.map(lambda _: c.ask("POST", "/v2/models/mlp/infer", body), range(4)))
                before = processes.resident_mb(gateway)
                codes = list(clients.map(lambda _: c.ask("POST", "/v2/models/mlp/infer", body)[0], range(36)))
            self.assertEqual(set(codes), {400})
            within = 64 * processes.MEMORY_FACTOR
            self.assertTrue(eventually(lambda: processes.resident_mb(gateway) < before + within))
            c.wait_until_served(Fixture("mlp"))

    def test_a_deadline_that_cannot_be_met_is_refused_at_once(self):
        fixture = Fixture("mlp")
        with Cluster() as c:
            c.start()
            code, answer = c.infer("mlp", fixture.body(1, slo_ms=0.001))
            self.assertEqual((code, answer["reason"]), (503, "late"))
            self.assert_ledger_balances(c)


if __name__ == "__main__":
    cluster.main()
