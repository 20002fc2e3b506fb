#!/usr/bin/env python3
"""Files of tensor models come from nodes that have them in memory: real processes, and models whose files are deleted
once the first node has loaded them.

    tests/end_to_end/model_files_test.py build/release/troupe
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, Fixture, relative_l2
from processes import PATIENCE, eventually, run
from scaling_cluster import parameters

ENCODERS = FIXTURES.parent / "encoders"
WAIT = ("--wait", str(PATIENCE))
WORKERS = ("first", "second", "third")
DOMAINS = ("west", "east", "east")
HAS_OPENVINO = Path(processes.PROGRAM).resolve().with_name("libtroupe_openvino.so")


OTHER = f"""[[model]]
name = "mlp"
source = "{FIXTURES}/mlp.onnx"
slo_ms = 10000
max_batch = 16
"""


def keeping(parameter_mb=64, workers=WORKERS, domains=DOMAINS, model_text=OTHER + 'domain = "west"\n', gbit_per_s=None,
            chunk_kb=None):
    """Workers that keep files of models in memory. With `gbit_per_s` all links are paced."""
    text = model_text
    if gbit_per_s is not None:
        text += f"""[links]
pace = true
[[link]]
nodes = {json.dumps(["head", *workers])}
gbit_per_s = {gbit_per_s}
"""
    if chunk_kb is not None:
        text += f"[scaling]\nchunk_kb = {chunk_kb}\n"
    return Cluster(workers=workers, domains=domains, model_text=text,
                   worker_keys=f"parameter_mb = {parameter_mb}")


def troupe(command, *arguments):
    done = subprocess.run([processes.PROGRAM, command, *map(str, arguments), "--json"], capture_output=True, text=True,
                          timeout=2 * PATIENCE)
    assert done.returncode == 0, f"troupe {command} {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def deploy(c, name, source, keys=""):
    file = Path(c.folder.name, "definition.toml")
    file.write_text(f'name = "{name}"\nsource = "{source}"\nslo_ms = 10000\nmax_batch = 16\ndomain = "west"\n{keys}\n')
    reply = troupe("deploy", c.file, "--file", file, *WAIT)
    assert reply["complete"], reply


def migrate(c, name, to):
    reply = troupe("migrate", c.file, name, to, *WAIT)
    assert reply["complete"], reply


def copies(c, name):
    """By node."""
    return {x["node"]: x for x in parameters(c)["copies"] if x["model"] == name}


def larger(file, megabytes, to):
    """The ONNX model with a comment of that size (ModelProto.doc_string)."""
    size, length = int(megabytes * 1e6), bytearray()
    n = size
    while n >= 128:
        length.append(n & 127 | 128)
        n >>= 7
    length.append(n)
    to.write_bytes(file.read_bytes() + b"\x32" + bytes(length) + os.urandom(size // 2).hex().encode())


class FilesTest(ClusterTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-files-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_served(self, c, fixture, name=None):
        code, answer = c.infer(name or fixture.name, fixture.body())
        self.assertEqual(code, 200, answer)
        self.assertLessEqual(fixture.distance(answer), 1e-4)

    def assert_pulled(self, c, name, least):
        """The two nodes in the east have all of it from peers, each byte once."""
        self.assertTrue(eventually(lambda: sorted(copies(c, name)) == ["second", "third"]), copies(c, name))
        for copy in copies(c, name).values():
            self.assertEqual((copy["ready"], copy["problem"]), (copy["chunks"], ""))
            self.assertEqual((copy["pulled"], copy["repeated"]), (copy["bytes"], 0))
            self.assertGreaterEqual(copy["bytes"], least)
            self.assertLess(copy["bytes"], least + 8192)

    def assert_no_folders(self):
        self.assertEqual(list(Path("/dev/shm").glob("troupe-files-*")), [])


class ModelFiles(FilesTest):
    def check(self, fixture, keys=""):
        with keeping() as c:
            up = c.start()
            source = self.folder / fixture.path.name
            shutil.copy(fixture.path, source)
            size = source.stat().st_size
            deploy(c, fixture.name, source, keys)
            (node, copy), = copies(c, fixture.name).items()
            self.assertEqual((node, copy["pulled"], copy["ready"]), ("first", 0, copy["chunks"]))
            self.assert_served(c, fixture)
            source.unlink()
            migrate(c, fixture.name, "east")
            self.assert_served(c, fixture)
            self.assert_pulled(c, fixture.name, size)
            migrate(c, fixture.name, "west")  # and back
            self.assert_served(c, fixture)
            self.assertTrue(eventually(lambda: list(copies(c, fixture.name)) == ["first"]), copies(c, fixture.name))
            (node, copy), = copies(c, fixture.name).items()
            self.assertEqual((node, copy["pulled"]), ("first", copy["bytes"]))
            code, out, err = run("parameters", c.file, fixture.name)
            self.assertEqual(code, 0, err)
            self.assertIn(fixture.name, out)
            troupe("undeploy", c.file, fixture.name, *WAIT)
            self.assertTrue(eventually(lambda: not copies(c, fixture.name)))
            self.assertEqual(run("parameters", c.file, fixture.name)[0], 2)
            self.assertEqual(up.terminate(), 0)
        self.assert_no_folders()

    def test_a_native_model(self):
        self.check(Fixture("resnet_a"))

    @unittest.skipUnless(HAS_OPENVINO.exists(), "a build without OpenVINO")
    def test_a_model_of_openvino(self):
        self.check(Fixture("encoder"), 'engine = "openvino"')

    @unittest.skipUnless(HAS_OPENVINO.exists(), "a build without OpenVINO")
    def test_a_model_with_external_data(self):
        sources = self.external_model()
        with keeping() as c:
            c.start()
            deploy(c, "external", self.folder / "m.onnx", 'engine = "openvino"')
            body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]})
            before = c.infer("external", body)
            self.assertEqual(before[0], 200, before)
            size = sum(s.stat().st_size for s in sources)
            for s in sources:
                s.unlink()
            migrate(c, "external", "east")
            after = c.infer("external", body)
            self.assertEqual(after[1]["outputs"], before[1]["outputs"])
            self.assertEqual(after[1]["outputs"][0]["data"], [3, 5, 7, 9])
            self.assert_pulled(c, "external", size)

    def external_model(self):
        """x + w, where w lies in a file of its own. Written without the package onnx."""
        def field(number, content):
            if isinstance(content, int):
                return bytes([number << 3, content])
            content = content if isinstance(content, bytes) else content.encode()
            return bytes([number << 3 | 2, len(content)]) + content

        def tensor(name, *more):
            dims = field(1, field(2, "n")) + field(1, field(1, 4))
            return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))
        (self.folder / "data").mkdir()
        weights = self.folder / "data/w.bin"
        weights.write_bytes(struct.pack("<4f", 2, 3, 4, 5))
        w = (field(1, 1) + field(1, 4) + field(2, 1) + field(8, "w") + field(14, 1) +
             field(13, field(1, "location") + field(2, "data/w.bin")))
        node = field(1, "x") + field(1, "w") + field(2, "y") + field(3, "add") + field(4, "Add")
        graph = (field(1, node) + field(2, "g") + field(5, w) + field(11, tensor("x")) + field(12, tensor("y")))
        model = self.folder / "m.onnx"
        model.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
        return [model, weights]

    def test_an_encoder_with_two_lengths(self):
        golden = json.loads((ENCODERS / "mpnet/golden.json").read_text())[0]
        folder = self.folder / "mpnet"
        shutil.copytree(ENCODERS / "mpnet", folder)
        with keeping(model_text=f"""[[encoder]]
name = "mpnet"
model = "{folder}"
lengths = [16, 32]
slo_ms = 10000
domain = "west"
""") as c:
            c.start()
            models = sorted({m["name"] for n in c.status()["nodes"] for m in n["models"]})
            self.assertEqual(len(models), 2, models)
            (name, copy), = copies(c, models[0]).items()
            self.assertEqual(len(parameters(c)["copies"]), 1)  # both lengths share it
            size = copy["bytes"]
            (folder / "model.safetensors").unlink()  # commands read the others
            for m in models:
                migrate(c, m, "east")
            code, answer = c.post("/v1/embeddings", json.dumps({"model": "mpnet", "input": golden["text"]}))
            self.assertEqual(code, 200, answer)
            self.assertLess(relative_l2(json.loads(answer)["data"][0]["embedding"], golden["embedding"]), 1e-4)
            self.assertTrue(eventually(lambda: sorted(copies(c, models[0])) == ["second", "third"]))
            self.assertEqual([x["pulled"] for x in parameters(c)["copies"]], [size] * 2)

    def test_files_of_the_cluster_file_are_read_by_one_node(self):
        with keeping(domains=(), model_text=OTHER) as c:
            c.start()
            def whole():
                return [x for x in copies(c, "mlp").values() if x["ready"] == x["chunks"]]
            self.assertTrue(eventually(lambda: len(whole()) == 3), copies(c, "mlp"))
            of = whole()
            self.assertEqual(sorted(x["pulled"] for x in of), [0] + [max(x["bytes"] for x in of)] * 2)
            self.assert_served(c, Fixture("mlp"))

    def test_without_room_the_disk_is_read(self):
        fixture = Fixture("resnet_a")
        with keeping(parameter_mb=0.004) as c:
            up = c.start()
            deploy(c, fixture.name, fixture.path)
            self.assert_served(c, fixture)
            migrate(c, fixture.name, "east")
            self.assert_served(c, fixture)
            self.assertEqual(parameters(c)["copies"], [])
            self.assertEqual(up.output().count("event=files_from_disk"), 4, up.output())  # one of mlp
            self.assertIn("raise parameter_mb of the [[node]]", up.output())


class Kills(FilesTest):
    def test_a_source_that_is_killed_while_files_travel_is_replaced(self):
        self.lose_the_source(signal.SIGKILL)

    def test_a_source_that_is_suspended_while_files_travel_is_replaced(self):
        self.lose_the_source(signal.SIGSTOP)

    def lose_the_source(self, how):
        megabytes, chunk = 24, 1 << 20
        fixture, source = Fixture("mlp"), self.folder / "large.onnx"
        larger(fixture.path, megabytes, source)
        workers = ("first", "other", "second", "third")
        with keeping(workers=workers, domains=("west", "west", "east", "east"), gbit_per_s=megabytes * 8e-3 / 4,
                     chunk_kb=chunk >> 10) as c:
            up = c.start()
            deploy(c, "large", source)
            self.assertEqual(sorted(copies(c, "large")), ["first", "other"])
            source.unlink()
            moved = []
            moving = threading.Thread(target=lambda: moved.append(migrate(c, "large", "east")))
            moving.start()

            sources = []

            def half_way():
                second = copies(c, "large").get("second")
                if second and second["from"] and second["ready"] > second["chunks"] / 4:
                    sources.append(second["from"])
                return sources
            self.assertTrue(eventually(half_way), copies(c, "large"))
            (victim,) = sources
            self.assertIn(victim, ("first", "other"))
            pid = up.pid_of(victim)
            os.kill(pid, how)
            try:
                moving.join()
            finally:
                if how == signal.SIGSTOP:
                    os.kill(pid, signal.SIGCONT)
            self.assertEqual(len(moved), 1)
            self.assert_served(c, fixture, "large")
            for node in ("second", "third"):
                copy = copies(c, "large")[node]
                self.assertEqual((copy["ready"], copy["pulled"]), (copy["chunks"], copy["bytes"]))
                self.assertLessEqual(copy["repeated"], 4 * chunk)


if __name__ == "__main__":
    cluster.main()
