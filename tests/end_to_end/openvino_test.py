#!/usr/bin/env python3
"""Properties of the engine OpenVINO: `precision = "bf16"`, the memory that `troupe profile` tells, and a program without it.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import ALL_FIXTURES, Fixture, relative_l2
from package_models import MAGIKA, READER

MAX_BATCH = 8
# bf16 has 8 bits of fraction: each rounding is off by 2**-9 at most.
BF16_BOUND = 2e-2


def has_bf16():
    """Whether OpenVINO computes in bf16: by instructions, or emulated by those of AVX-512."""
    return any(flag in Path("/proc/cpuinfo").read_text().split() for flag in ("avx512f", "avx512_bf16", "amx_bf16", "avx_ne_convert"))


class Precision(ClusterTest):
    def check(self, f, got):
        """Of outputs by f32 and bf16."""
        f32, bf16 = (relative_l2(x, f.output) for x in got)
        print(f"{f.name}: f32 {f32:.1e}, bf16 {bf16:.1e}")
        self.assertLess(f32, 1e-4)
        self.assertLess(bf16, BF16_BOUND)
        if has_bf16():
            self.assertGreater(bf16, 10 * f32, "nothing was computed in bf16")
        else:
            self.assertLess(bf16, 1e-4)

    def test_infer(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ALL_FIXTURES:
                f, out = Fixture(name), Path(folder, "out")
                got = []
                for flags in ((), ("--bf16",)):
                    code, _, err = processes.run("infer", "--model-file", f.path, "--input", f.path.with_suffix(".in.bin"),
                                                 "--output", out, "--engine", "openvino", *flags)
                    self.assertEqual(code, 0, err)
                    got.append(np.fromfile(out, np.float32))
                with self.subTest(name):
                    self.check(f, got)

    def test_served(self):
        text = "".join(f'[[model]]\nname = "{name}-{precision}"\nsource = "{Fixture(name).path}"\nslo_ms = 20000\n'
                       f'engine = "openvino"\nprecision = "{precision}"\nmax_batch = 16\n'
                       for name in ALL_FIXTURES for precision in ("f32", "bf16"))
        with Cluster(model_text=text) as c:
            c.start()
            for name in ALL_FIXTURES:
                f, got = Fixture(name), []
                for precision in ("f32", "bf16"):
                    code, answer = c.infer(f"{name}-{precision}", f.body())
                    self.assertEqual(code, 200, answer)
                    got.append(answer["outputs"][0]["data"])
                with self.subTest(name):
                    self.check(f, got)
            self.assert_ledger_balances(c)

    def test_profile(self):
        code, out, err = processes.run("profile", "--model-file", Fixture("encoder").path, "--engine", "openvino", "--bf16",
                                       "--max-batch", 2, "--json")
        self.assertEqual(code, 0, err)
        self.assertGreater(json.loads(out)["memory_bytes"], 0)

    def test_only_openvino_has_it(self):
        code, _, err = processes.run("infer", "--model-file", Fixture("mlp").path, "--input", Fixture("mlp").path.with_suffix(
            ".in.bin"), "--output", "/dev/null", "--bf16")
        self.assertEqual(code, 2)
        self.assertIn("--engine openvino", err)


def write_layers(path, layers=8, width=1024):
    """A chain of matrix products: 4 MiB of weights each."""
    random = np.random.default_rng(1)
    node, names = helper.make_node, [f"h{i}" for i in range(layers + 1)]
    graph = helper.make_graph(
        [node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(layers)], "layers",
        [helper.make_tensor_value_info(names[0], TensorProto.FLOAT, ["rows", width])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, ["rows", width])],
        [numpy_helper.from_array((random.standard_normal((width, width)) / 32).astype(np.float32), f"w{i}")
         for i in range(layers)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Memory(unittest.TestCase):
    def profile(self, file, *shape):
        """(what the command tells, peak of its process) in MB."""
        arguments = [processes.PROGRAM, "profile", "--model-file", file, "--engine", "openvino", "--max-batch", str(MAX_BATCH),
                     "--json", *shape]
        peak, began = 0, time.monotonic()
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            while child.poll() is None and time.monotonic() < began + processes.PATIENCE:
                with contextlib.suppress(OSError, ValueError):
                    status = Path(f"/proc/{child.pid}/status").read_text().splitlines()
                    peak = next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), peak)
                time.sleep(0.01)
            document = json.load(child.stdout)
        self.assertEqual(child.returncode, 0)
        return document["memory_bytes"] / 1e6, peak * 1024 / 1e6

    def test_it_is_that_of_the_process(self):
        """Beyond a model that takes next to nothing."""
        with tempfile.TemporaryDirectory() as folder:
            layers = Path(folder, "layers.onnx")
            write_layers(layers)
            _, without = self.profile(Fixture("mlp").path)
            for file, shape, parameters in ((layers, (), 33.5), (MAGIKA, (), 3.1), (READER, ("--shape", "x=8x3x48x320"), 10.8)):
                with self.subTest(file.name):
                    told, peak = self.profile(file, *shape)
                    print(f"{file.name}: {parameters} MB of parameters; memory {told:.1f} MB, process {peak - without:.1f} MB")
                    self.assertGreater(told, 1.5 * parameters)
                    self.assertLess(told, 1.2 * (peak - without) + 4)
                    self.assertGreater(told, 0.6 * (peak - without) - 4)


class Missing(unittest.TestCase):
    """A program without the component beside it."""

    def test_the_message_says_what_needs_it_and_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(processes.PROGRAM, folder)
            file, row = Path(folder, "m.onnx"), Path(folder, "row")
            row.write_bytes(bytes(4 * 4))
            graph = helper.make_graph(
                [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Sinh", ["a"], ["y"], name="the_sinh")], "g",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 4])])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
            for command in (("infer", "--model-file", file, "--input", row, "--output", Path(folder, "out")),
                            ("profile", "--model-file", file), ("serve", file, "--print-config")):
                with self.subTest(command[0]):
                    done = subprocess.run([program, *map(str, command)], capture_output=True, text=True, timeout=processes.PATIENCE)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    for part in ("m.onnx: ", "Sinh", "the_sinh", "tools/install"):
                        self.assertIn(part, done.stderr)


if __name__ == "__main__":
    cluster.main()
