#!/usr/bin/env python3
"""Five times more load than the capacity, for models with several shapes: each shape declared, padded to a few, and any shape.

    tests/end_to_end/shapes_overload_test.py build/release/troupe           what ctest runs
    tests/end_to_end/shapes_overload_test.py build/release/troupe --full    seven turns after a ramp, with the bounds of an idle machine

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import itertools
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cluster
from cluster import ClusterTest
from overload import PROFILE, SECONDS, SLO_MS, check_overload, load, overloaded
from shapes_test import LENGTHS, WORDS, body_of


def write_copy(path):
    """ids [N, S], unchanged: numbers that JSON has, whatever an emulated device answers."""
    ids = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"])
    graph = helper.make_graph([helper.make_node("Identity", ["ids"], ["same"])], "copy", [ids("ids")], [ids("same")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_slow(path, *rows):
    """ids [length] to numbers [512]: some 5 ms for 64 ids on one thread. `rows`: names of dimensions before these."""
    random = np.random.default_rng(3)
    node, width = helper.make_node, 512
    names = [f"h{i}" for i in range(17)]
    graph = helper.make_graph(
        [node("Gather", ["table", "ids"], [names[0]])] +
        [node("MatMul", [a, "mixing"], [b]) for a, b in itertools.pairwise(names)] +
        [node("ReduceMean", [names[-1]], ["y"], axes=[len(rows)], keepdims=0)],
        "slow", [helper.make_tensor_value_info("ids", TensorProto.INT64, [*rows, "length"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*rows, width])],
        [numpy_helper.from_array(random.standard_normal((WORDS, width)).astype(np.float32), "table"),
         numpy_helper.from_array((random.standard_normal((width, width)) / 23).astype(np.float32), "mixing")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def ids_of(length):
    return body_of({"ids": np.random.default_rng(length).integers(0, WORDS, (1, length))})


def mix_of(model, lengths):
    """Flags of a load with requests of these lengths."""
    return [("--model", model, "--shape", f"ids={n}") for n in lengths]


class ShapesOverload(ClusterTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "model.onnx")

    def check_emulated(self, keys, lengths):
        """The capacity is that of one emulated device, as in overload_test.py."""
        write_copy(self.file)
        with overloaded(f'[[model]]\nname = "copy"\nsource = "{self.file}"\nslo_ms = {SLO_MS}\n{PROFILE}{keys}') as c:
            check_overload(self, c, c.start(), "copy", [ids_of(n) for n in lengths], mix_of("copy", lengths))

    def test_padded_requests(self):
        self.check_emulated(f"pad = {{ axis = 1, to = {list(LENGTHS)}, inputs = {{ ids = 0 }} }}\n", (2, 5, 11, 16))

    def test_declared_shapes(self):
        self.check_emulated(f"shapes = [ {', '.join(f'{{ ids = [{n}] }}' for n in LENGTHS)} ]\n", LENGTHS)

    def test_any_shape(self):
        """On a CPU, for which such models are: its capacity is measured."""
        write_slow(self.file)
        lengths = (48, 58, 70, 80)
        model = f'[[model]]\nname = "slow"\nsource = "{self.file}"\nslo_ms = {SLO_MS}\nany_shape = true\n'
        random = np.random.default_rng(5)
        bodies = [body_of({"ids": random.integers(0, WORDS, n)}) for n in random.integers(48, 80, 64)]
        with overloaded(model, 'kind = "cpu"') as c:
            up = c.start()
            mix = mix_of("slow", lengths)
            capacity = max(load(c, 400, SECONDS, mix)["goodput_rps"] for _ in range(2))  # the first learns
            check_overload(self, c, up, "slow", bodies, mix, capacity)


if __name__ == "__main__":
    cluster.main()
