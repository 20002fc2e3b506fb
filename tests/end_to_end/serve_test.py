#!/usr/bin/env python3
"""`troupe serve PATH...`: models without a cluster file."""
import http.client
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from fixtures import FIXTURES, Fixture

TASKS = FIXTURES.parent / "llama-tasks"


def post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=processes.PATIENCE)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


class Serve(unittest.TestCase):
    def test_a_file_and_a_checkpoint_with_its_adapters(self):
        (port,) = processes.free_ports(1)
        mlp = Fixture("mlp")
        p = processes.Process(*map(str, ("serve", mlp.path, TASKS / "base", TASKS / "adapters", "--port", port, "--kv-mb", 16)))
        try:
            p.wait_line(rf"^troupe: ready http://127.0.0.1:{port}$")
            self.assertTrue(all(line.startswith("curl ") for line in p.lines["stdout"][:-1]), p.output())
            self.assertIn(f"curl http://127.0.0.1:{port}/v2/models/mlp", p.output())
            self.assertIn('"model": "reverse"', p.output())
            code, answer = post(port, "/v2/models/mlp/infer", mlp.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(mlp.distance(answer), 1e-4)
            code, answer = post(port, "/v1/completions",
                                json.dumps({"model": "reverse", "prompt": "olleh=", "temperature": 0, "max_tokens": 8}))
            self.assertEqual(code, 200, answer)
            self.assertEqual(answer["choices"][0]["text"].strip(), "hello")
            self.assertEqual(p.terminate(), 0)
        finally:
            p.kill()

    def test_the_cluster_file_that_it_stands_for_is_valid(self):
        code, text, err = processes.run("serve", Fixture("mlp").path, TASKS / "base", "--print-config")
        self.assertEqual((code, err), (0, ""))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cluster.toml")
            file.write_text(text)
            code, out, err = processes.run("check", file)
            self.assertEqual(code, 0, err)

    def test_problems_of_the_cluster_file_name_the_flags(self):
        code, out, err = processes.run("serve", Fixture("mlp").path, "--slo-ms", 0.1)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("slo_ms", err.splitlines()[0])
        self.assertIn("--slo-ms for slo_ms", err)

    def test_what_it_cannot_serve_is_named(self):
        code, out, err = processes.run("serve", "/nowhere")
        self.assertEqual((code, out, err), (2, "", "troupe: /nowhere: does not exist\n"))


class TritonRepository(unittest.TestCase):
    """Folders in the layout of Triton; tritonclient_test.py has requests by Triton's client."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def add(self, name, config=None, versions=(1,)):
        """A model of the repository; returns its config.pbtxt."""
        for version in versions:
            folder = self.root / name / str(version)
            folder.mkdir(parents=True)
            shutil.copy(Fixture("mlp").path, folder / "model.onnx")
        file = self.root / name / "config.pbtxt"
        if config is not None:
            file.write_bytes(config if isinstance(config, bytes) else config.encode())
        return file

    def test_models_with_and_without_a_configuration(self):
        mlp = Fixture("mlp")
        self.add("plain", versions=(1, 12))
        config = self.add("tuned", """name: "tuned"
backend: "onnxruntime"
max_batch_size: 16
input [ { name: "input" data_type: TYPE_FP32 dims: [ 64 ] } ]
instance_group [ { kind: KIND_CPU count: 2 } ]
dynamic_batching { preferred_batch_size: [ 8 ] default_queue_policy { default_timeout_microseconds: 30000000 } }
""")
        code, text, err = processes.run("serve", self.root, "--print-config")
        self.assertEqual(code, 0, err)
        self.assertEqual([line.split(" has no effect: ")[0] for line in err.splitlines()],
                         [f"troupe: {config}:5:35: instance_group.count",
                          f"troupe: {config}:6:20: dynamic_batching.preferred_batch_size"])
        self.assertIn(f'source = "{self.root}/plain/12/model.onnx"', text)
        self.assertIn("slo_ms = 30000\nmax_batch = 16\n", text)
        (port,) = processes.free_ports(1)
        p = processes.Process("serve", str(self.root), "--port", str(port))
        try:
            p.wait_line(rf"^troupe: ready http://127.0.0.1:{port}$")
            for name in ("plain", "tuned"):
                code, answer = post(port, f"/v2/models/{name}/infer", mlp.body())
                self.assertEqual(code, 200, answer)
                self.assertLessEqual(mlp.distance(answer), 1e-4)
            self.assertEqual(p.terminate(), 0)
        finally:
            p.kill()

    def test_unsupported_and_unknown_fields_are_named_with_their_places(self):
        config = self.add("m", """name: "m"
platform: "tensorrt_plan"
ensemble_scheduling { step [ { model_name: "a" } ] }
""")
        code, out, err = processes.run("serve", self.root / "m")
        self.assertEqual((code, out), (2, ""))
        places = [f"{config}:2:1: platform: 'tensorrt_plan'", f"{config}:3:1: ensemble_scheduling is not supported"]
        lines = err.splitlines()
        self.assertEqual(len(lines), 2, err)
        for line, place in zip(lines, places):
            self.assertTrue(line.startswith("troupe: " + place), err)
        config.write_text('max_batchsize: 8')
        self.assertEqual(processes.run("serve", self.root), (2, "", f'troupe: {config}:1:14: Message type "inference.ModelConfig" '
                                                                    'has no field named "max_batchsize".\n'))

    def test_hostile_configurations_end_with_one_message(self):
        for name, config in (("binary", bytes(range(256)) * 400), ("zeros", b"\0" * 100000), ("deep", b"a{" * 200000),
                             ("lists", b"x:" + b"[" * 500000), ("huge", b"#" * (2 << 20)), ("truncated", b"input [ { name: \"x")):
            with self.subTest(name):
                file = self.add(name, config)
                code, out, err = processes.run("serve", self.root / name)
                self.assertEqual((code, out), (2, ""))
                self.assertEqual(err.count("\n"), 1, err[:2000])
                self.assertTrue(err.startswith(f"troupe: {file}:"), err[:2000])


if __name__ == "__main__":
    cluster.main()
