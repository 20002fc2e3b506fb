#!/usr/bin/env python3
"""Well-formed models that no program should run: cycles, absurd shapes, weights that are not there, bombs. Each ends with exit
code 2 and one line that names the file and the node, in bounded memory. A cluster that is given them goes on.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from hostile_models import NATIVE, OPENVINO, hostile_models

MEMORY_MB = 1500  # of a process that refuses a model
SEED = os.environ.get("TROUPE_SEED", "1")
UPS = 6  # hostile models of which each stops a cluster that is to start with it


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.row, self.out = (Path(folder.name, name) for name in ("m.onnx", "row", "out"))

    def run_on(self, *command):
        """(exit code, standard error, largest memory in MB)"""
        with tempfile.TemporaryFile() as error:
            child = subprocess.Popen([processes.PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=error)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            error.seek(0)
            return child.returncode, error.read().decode(errors="replace"), usage.ru_maxrss / 1000

    def check(self, hostile, engine, code, text, memory, node=True):
        runs = engine in hostile.runs or (engine == "auto" and hostile.runs)
        self.assertEqual(code, 0 if runs else 2, text)
        self.assertLess(memory, MEMORY_MB * processes.MEMORY_FACTOR)
        if runs:
            return
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn("m.onnx: ", text)
        if node:
            self.assertIn(hostile.native if engine == NATIVE and hostile.native else hostile.says, text)

    def test_infer(self):
        for hostile in hostile_models():
            self.file.write_bytes(hostile.model.SerializeToString())
            self.row.write_bytes(hostile.input)
            for engine in ("auto", NATIVE, OPENVINO):
                with self.subTest(hostile.kind, engine=engine):
                    self.out.write_bytes(b"")
                    self.check(hostile, engine, *self.run_on("infer", "--model-file", self.file, "--engine", engine, "--input",
                                                             self.row, "--output", self.out))
                    if self.out.read_bytes():
                        self.assertEqual(self.out.read_bytes(), hostile.output)

    def test_profile_and_serve(self):
        for hostile in hostile_models():
            self.file.write_bytes(hostile.model.SerializeToString())
            for command in (("profile", "--max-batch", 1, "--model-file", self.file), ("serve", self.file, "--print-config")):
                with self.subTest(hostile.kind, command=command[0]):
                    self.check(hostile, "auto", *self.run_on(*command))

    def test_check_names_each_of_a_cluster_file(self):
        folder = self.file.parent
        with Cluster() as c:
            expected = {}
            for i, hostile in enumerate(hostile_models()):
                file = folder / f"{i}.onnx"
                file.write_bytes(hostile.model.SerializeToString())
                c.file.write_text(c.file.read_text() + table(f"m{i}", file))
                if not hostile.runs:
                    expected[file] = hostile
            code, text, memory = self.run_on("check", c.file)
        self.assertEqual(code, 2)
        self.assertLess(memory, MEMORY_MB * processes.MEMORY_FACTOR)
        lines = text.splitlines()
        self.assertEqual(len(lines), len(expected), text)
        for line, (file, hostile) in zip(lines, expected.items()):
            with self.subTest(hostile.kind):
                self.assertRegex(line, r"cluster.toml:\d+:\d+: model.source: ")
                self.assertIn(f"{file}: ", line)
                self.assertIn(hostile.says, line)


def table(name, file):
    return f'[[model]]\nname = "{name}"\nsource = "{file}"\nslo_ms = 10000\nmax_batch = 1\n'


class Server(ClusterTest):
    """Two processes that serve `mlp` before, between and after hostile models."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.folder = Path(cls.cluster.folder.name)
        cls.cluster.file.write_text(cls.cluster.file.read_text() + '[models]\ndirectory = "."\n')
        cls.up = cls.cluster.start()

    def assert_served(self, c):
        mlp = Fixture("mlp")
        code, answer = c.infer("mlp", mlp.body())
        self.assertEqual(code, 200, answer)
        self.assertLessEqual(mlp.distance(answer), 1e-4)
        self.assertEqual(c.get("/v2/health/live")[0], 200)

    def check(self, hostile, file, text):
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertIn(f"{file}: ", text)
        self.assertIn(hostile.says, text)

    def give_each(self, name, give):
        """Calls the function with a model's name, its file, and what it is."""
        pids = [self.up.child.pid, *processes.descendants(self.up.child.pid)]
        for i, hostile in enumerate(hostile_models()):
            file = self.folder / f"{name}{i}.onnx"
            file.write_bytes(hostile.model.SerializeToString())
            with self.subTest(hostile.kind):
                give(f"{name}{i}", file, hostile)
                self.assert_served(self.cluster)
        self.assertEqual([self.up.child.pid, *processes.descendants(self.up.child.pid)], pids, "a node has been restarted")
        for pid in pids:
            self.assertLess(processes.resident_mb(pid), MEMORY_MB * processes.MEMORY_FACTOR)

    def test_up(self):
        every = list(hostile_models())
        for hostile in random.Random(SEED).sample([h for h in every if not h.runs], UPS):
            file = self.folder / "up.onnx"
            file.write_bytes(hostile.model.SerializeToString())
            with self.subTest(hostile.kind, seed=SEED), Cluster(model_text=table("m", file)) as c:
                up = c.start(ready=None)
                self.assertEqual(up.wait(), 2, up.output())
                self.assertEqual(up.lines["stdout"], [])
                self.check(hostile, file, processes.without_log("\n".join(up.lines["stderr"])))

    def test_deploy(self):
        def give(name, file, hostile):
            code, out, err = processes.run("deploy", self.cluster.file, "--name", name, "--source", file, "--slo-ms", 10000,
                                           "--max-batch", 1, "--wait", processes.PATIENCE)
            self.assertEqual(code, 0 if hostile.runs else 1, out + err)
            if not hostile.runs:
                self.check(hostile, file, err)
        self.give_each("deployed", give)

    def test_load(self):
        def give(name, file, hostile):
            config = {"source": file.name, "slo_ms": 10000, "max_batch": 1}
            code, text = self.cluster.post(f"/v2/repository/models/{name}/load",
                                           json.dumps({"parameters": {"config": json.dumps(config)}}))
            self.assertEqual(code, 200 if hostile.runs else 400, text)
            if not hostile.runs:
                self.check(hostile, file, json.loads(text)["error"])
        self.give_each("loaded", give)


if __name__ == "__main__":
    cluster.main()
