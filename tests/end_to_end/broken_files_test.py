#!/usr/bin/env python3
"""Whatever a file holds, no command ends by a signal or an uncaught exception: it works, or says in one line what is wrong.

Needs the Python of tests/requirements.txt.
"""
import json
import re
import resource
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from broken_files import damaged, hostile_models
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, ROOT, Fixture

BASE = FIXTURES.parent / "llama-tasks/base"
ENCODERS = FIXTURES.parent / "encoders"
MEMORY = 16 << 30  # of an address space: what asks for more is refused, not tried


def bounded():
    if not processes.SANITIZER:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Broken(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_on(self, *command):
        """Its exit code, after a check that it ended in order."""
        done = subprocess.run([processes.PROGRAM, *map(str, command)], capture_output=True, text=True, errors="replace",
                              timeout=processes.PATIENCE, preexec_fn=bounded, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, (0, 1, 2), f"{command}: {done.returncode}\n{done.stderr[-2000:]}")
        if done.returncode != 0:
            self.assertTrue((done.stderr + done.stdout).strip(), command)
            self.assertNotIn("terminate called", done.stderr)
            self.assertLess(len(done.stderr), 20_000)
        return done.returncode, done.stderr

    def test_damaged_tensor_models(self):
        file, out = self.folder / "m.onnx", self.folder / "out"
        for name in ("mlp", "encoder"):
            row = self.folder / "row"
            row.write_bytes((FIXTURES / f"{name}.in.bin").read_bytes())
            for kind, content in damaged((FIXTURES / f"{name}.onnx").read_bytes(), name):
                file.write_bytes(content)
                for command in (("infer", "--input", row, "--output", out), ("profile", "--max-batch", 1)):
                    with self.subTest(model=name, kind=kind, command=command[0]):
                        code, text = self.run_on(command[0], "--model-file", file, *command[1:])
                        self.assertLessEqual(text.count("\n"), 1)
                        if not kind.startswith("mutant"):
                            self.assertEqual(code, 2)
                            self.assertIn("m.onnx", text)

    def test_hostile_tensor_models(self):
        file, row, out = self.folder / "m.onnx", self.folder / "row", self.folder / "out"
        row.write_bytes(bytes(8))
        for kind, model in hostile_models():
            file.write_bytes(model.SerializeToString())
            for engine in ("auto", "native", "openvino"):
                with self.subTest(kind, engine=engine):
                    code, text = self.run_on("infer", "--model-file", file, "--engine", engine, "--input", row, "--output", out)
                    self.assertLessEqual(text.count("\n"), 1, text)
                    if code != 0:
                        self.assertIn(str(row) if "row" in text.split(":")[0] else "m.onnx", text)

    def test_damaged_checkpoints(self):
        for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.model"):
            for kind, content in damaged((BASE / name).read_bytes(), name):
                folder = self.folder / "model"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(BASE, folder)
                (folder / name).unlink()
                (folder / name).write_bytes(content)
                with self.subTest(name, kind=kind):
                    code, text = self.run_on("generate", "--model", folder, "--prompt", "ab", "--max-tokens", 2)
                    if code != 0:
                        self.assertIn(str(folder), text)

    def test_damaged_encoders(self):
        for good, names in (("xlmr", ("config.json", "model.safetensors", "tokenizer.json", "1_Pooling/config.json")),
                            ("cross-encoder", ("tokenizer.json", "tokenizer_config.json"))):
            for name in names:
                for kind, content in damaged((ENCODERS / good / name).read_bytes(), name):
                    folder = self.folder / "model"
                    shutil.rmtree(folder, ignore_errors=True)
                    shutil.copytree(ENCODERS / good, folder, copy_function=shutil.copyfile)
                    (folder / name).write_bytes(content)
                    file = self.folder / "cluster.toml"
                    code, text, _ = processes.run("serve", folder, "--print-config")
                    file.write_text(text)
                    for command in (("embed", "--model", folder, "--text", "Aä 1."), ("serve", folder, "--print-config"),
                                    ("check", file)):
                        with self.subTest(good, name=name, kind=kind, command=command[0]):
                            code, text = self.run_on(*command)
                            if code != 0 and command[0] != "check":
                                self.assertIn(str(folder), text)

    def test_damaged_cluster_files(self):
        text = (ROOT / "examples/quickstart/cluster.toml").read_text()
        text = re.sub(r"(?m)^(\w*port) = \d+", lambda m: f"{m[1]} = {processes.free_ports(1)[0]}", text).encode()
        file, workload = self.folder / "cluster.toml", ROOT / "examples/quickstart/workload.toml"
        shutil.copytree(ROOT / "examples/quickstart/models", self.folder / "models")
        for kind, content in damaged(text):
            file.write_bytes(content)
            for command in (("check", file), ("config", "dump", file), ("status", file), ("actors", file),
                            ("top", file, "--once"), ("ask", file, "gateway/0", "get_state"), ("why", file, 1),
                            ("drain", file, "left"), ("deploy", file, file), ("undeploy", file, "mlp"),
                            ("trace", file, "-o", self.folder / "t"), ("simulate", file, "--workload", workload),
                            ("certs", file, "--output", self.folder / "certs")):
                with self.subTest(kind, command=command[0]):
                    self.run_on(*command)

    def test_damaged_workloads_scenarios_and_traces(self):
        good = ROOT / "examples/emulated"
        for example, commands in (
                (good / "workload.toml", [("simulate", good / "cluster.toml", "--workload", None)]),
                (ROOT / "examples/experiments/table2-resnet50.toml", [("goodput", None, "--seeds", 1)]),
                (ROOT / "examples/traces/mooncake.jsonl", [("replay", None, "http://127.0.0.1:1", "--requests", 2)]),
                (ROOT / "examples/traces/azure.csv", [("replay", None, "http://127.0.0.1:1", "--requests", 2)])):
            file = self.folder / example.name
            for kind, content in damaged(example.read_bytes(), example.name):
                if example.suffix == ".toml" and kind.startswith("mutant"):
                    continue  # it may be a valid one that runs for hours
                file.write_bytes(content)
                for command in commands:
                    with self.subTest(example.name, kind=kind):
                        self.run_on(*(file if part is None else part for part in command))


class Serving(ClusterTest):
    def test_a_server_outlives_every_model_that_it_is_given(self):
        with tempfile.TemporaryDirectory() as folder, Cluster() as c:
            c.start()
            for i, (kind, model) in enumerate(hostile_models()):
                file = Path(folder, f"m{i}.onnx")
                file.write_bytes(model.SerializeToString())
                with self.subTest(kind):
                    code, out, err = processes.run("deploy", c.file, "--name", f"m{i}", "--source", file, "--slo-ms", 1000,
                                                   "--max-batch", 1, "--json")
                    self.assertIn(code, (0, 1, 2), err)
                    json.loads(out)
            mlp = Fixture("mlp")
            code, answer = c.infer("mlp", mlp.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(mlp.distance(answer), 1e-4)
            self.assertEqual(c.get("/v2/health/live")[0], 200)


if __name__ == "__main__":
    cluster.main()
