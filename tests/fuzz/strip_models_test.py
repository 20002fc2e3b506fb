#!/usr/bin/env python3
"""Models lose their weights and keep their structure."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import strip_models

WEIGHTS = np.random.default_rng(1).standard_normal((96, 8, 3, 3)).astype(np.float32)


def a_model():
    """A convolution, and an `If` with a branch that has a `Loop` with weights."""
    constant = helper.make_node("Constant", [], ["deep"], value=numpy_helper.from_array(WEIGHTS, "deep"))
    body = helper.make_graph([constant, helper.make_node("Identity", ["go"], ["on"])], "body",
                             [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                              helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, [])])
    loop = helper.make_node("Loop", ["", "yes"], [], body=body)
    branch = helper.make_graph([loop, helper.make_node("Identity", ["x"], ["z"])], "branch", [],
                               [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
                               [numpy_helper.from_array(WEIGHTS, "inner")])
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], group=96, doc_string="long " * 100),
             helper.make_node("If", ["yes"], ["z"], then_branch=branch, else_branch=branch),
             helper.make_node("Own", ["y"], ["q"], floats=[1.0] * 1000, texts=["a"] * 1000, code="x" * 1000)]
    shape = numpy_helper.from_array(np.array([1, -1, 480], np.int64), "shape")
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 320, 320])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(WEIGHTS, "w"), shape], doc_string="long " * 100)
    model = helper.make_model(graph)
    helper.set_model_props(model, {"character": "letters" * 1000})
    return model


def outline(graph):
    """Names of nodes, tensors and attributes, with those of nested graphs."""
    return ([t.name for t in graph.initializer],
            [(n.op_type, n.name, list(n.input), list(n.output),
              [(a.name, a.type, outline(a.g) if a.HasField("g") else None) for a in n.attribute]) for n in graph.node])


class StripModels(unittest.TestCase):
    def test_the_structure_stays_and_the_weights_go(self):
        model, stripped = a_model(), a_model()
        strip_models.strip(stripped)
        self.assertEqual(outline(stripped.graph), outline(model.graph))
        self.assertGreater(model.ByteSize(), 100_000)
        self.assertLess(stripped.ByteSize(), 10_000)
        self.assertEqual(onnx.ModelProto.FromString(stripped.SerializeToString()), stripped)

    def test_large_dimensions_are_small_alike(self):
        model = a_model()
        strip_models.strip(model)
        conv, choice, _ = model.graph.node
        inner = choice.attribute[0].g
        for tensor in (model.graph.initializer[0], inner.initializer[0],
                       inner.node[0].attribute[0].g.node[0].attribute[0].t):
            self.assertEqual(list(tensor.dims), [4, 8, 3, 3])
            self.assertFalse(numpy_helper.to_array(tensor).any())
        self.assertEqual(conv.attribute[0].i, 4)

    def test_small_tensors_and_inputs_keep_their_values(self):
        model = a_model()
        strip_models.strip(model)
        self.assertEqual(numpy_helper.to_array(model.graph.initializer[1]).tolist(), [1, -1, 480])
        self.assertEqual(model.graph.input[0], a_model().graph.input[0])

    def test_tensors_of_every_kind_are_readable_afterwards(self):
        for kind in (TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.INT64, TensorProto.STRING, TensorProto.BFLOAT16):
            with self.subTest(kind=kind):
                tensor = TensorProto(name="w", data_type=kind, dims=[1000, 2])
                strip_models.strip_tensor(tensor)
                self.assertEqual(numpy_helper.to_array(tensor).size, 8)
        outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        outside.external_data.add(key="location", value="w.bin")
        strip_models.strip_tensor(outside)
        self.assertEqual(numpy_helper.to_array(outside).tolist(), [0, 0])

    def test_the_folder_holds_the_stripped_models_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source"), Path(folder, "target")
            for name in ("a", "b"):
                (source / name).mkdir(parents=True)
                onnx.save(a_model(), source / name / "model.onnx")
            target.mkdir()
            (target / "stale").write_bytes(b"x")
            self.run_on(source, target)
            self.assertEqual(sorted(f.name for f in target.iterdir()), ["0_model", "1_model"])
            said = self.run_on(source / "nothing", target)
            self.assertIn("is fuzzed without models of packages", said)
            self.assertEqual(list(target.iterdir()), [])
            with self.assertRaises(subprocess.CalledProcessError):
                self.run_on(source / "a", source)
            self.assertTrue((source / "a/model.onnx").exists())

    def run_on(self, source, target):
        return subprocess.run([sys.executable, strip_models.__file__, source, target], capture_output=True, text=True,
                              check=True).stdout


if __name__ == "__main__":
    unittest.main()
