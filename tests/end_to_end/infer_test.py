#!/usr/bin/env python3
"""`troupe infer` and `troupe profile` of a model file: element types, whole shapes, outputs whose shapes depend on values,
scalars, engines; against onnxruntime.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import cluster
import processes
from any_shape_test import write_positive
from cluster import Cluster, ClusterTest
from datatypes_test import TYPES, samples, write_model
from fixtures import FIXTURES, Fixture
from infer_command import infer
from onnx_models import model, scalar, value, whole_numbers

node = helper.make_node
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def reference(file, inputs):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs)))


def boxes(n):
    """Overlapping boxes [1, n, 4] and their scores [1, 1, n]."""
    random = np.random.default_rng(n)
    corner = random.integers(0, 8, (1, n, 2)).astype(np.float32)
    return [np.concatenate([corner, corner + 4], axis=2), random.random((1, 1, n), np.float32)]


class Infer(ClusterTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "m.onnx")

    def save(self, *parts, **more):
        onnx.save(model(*parts, **more), self.file)

    def check(self, inputs, *options):
        done = infer(self.file, inputs, *options)
        self.assertEqual(done.code, 0, done.error)
        for got, expected in zip(done.outputs, reference(self.file, inputs), strict=True):
            self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        return done.document

    def refused(self, inputs, *options):
        """The message without the path before the file's name."""
        done = infer(self.file, inputs, *options)
        self.assertEqual(done.code, 2, done.document)
        self.assertEqual(done.document, {"error": done.message})
        return done.message.replace(f"{self.file.parent}/", "")

    def profile(self, *options):
        code, out, error = processes.run("profile", "--model-file", self.file, "--max-batch", 2, "--json", *options)
        self.assertEqual(code, 0, error)
        return [s["rows"] for s in json.loads(out)["samples"]]

    def save_boxes(self):
        self.save([node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["chosen"])],
                  [value("boxes", [1, "n", 4]), value("scores", [1, 1, "n"])], [value("chosen", ["k", 3], INT64)],
                  [whole_numbers("most", [3]), scalar("overlap", FLOAT, 0.3)])

    def test_every_type_comes_back_bit_by_bit(self):
        for name, (element, kind) in TYPES.items():
            write_model(self.file, element)
            values = samples(kind).reshape(3, 4)
            for flags in ([], ["--engine=openvino"], ["--shape=x=3x4"]):
                with self.subTest(name, flags=flags):
                    done = infer(self.file, [values], *flags)
                    if flags == ["--engine=openvino"] and name in ("INT64", "UINT64"):
                        self.assertRegex(done.message, "input 'x' has the value -?[0-9]+: OpenVINO computes integers in 32 bits")
                        continue
                    self.assertEqual(done.code, 0, done.error)
                    same, wide = done.outputs
                    self.assertEqual([o["datatype"] for o in done.document["outputs"]], [name, "FP64"])
                    self.assertEqual(same.tobytes(), values.tobytes())
                    if flags == ["--engine=openvino"] and name in ("INT32", "UINT32", "FP64"):
                        continue  # it casts in 32 bits
                    np.testing.assert_array_equal(wide, values.astype(np.float64))
                    if name != "BF16":  # which onnxruntime does not take from numpy
                        for got, expected in zip(done.outputs, reference(self.file, [values])):
                            self.assertEqual((got.dtype, got.tobytes()), (expected.dtype, expected.tobytes()))

    def test_narrow_and_wide_types_compute(self):
        for name in ("FP16", "FP64", "INT8", "INT32", "BOOL"):
            element, kind = TYPES[name]
            with self.subTest(name):
                op = "And" if name == "BOOL" else "Mul"
                x = np.array([[0, 1, 1], [1, 0, 1]], kind) if name == "BOOL" else np.array([[1, -2, 3], [4, 5, -6]], kind)
                self.save([node(op, ["x", "w"], ["y"])], [value("x", ["n", 3], element)], [value("y", ["n", 3], element)],
                          [numpy_helper.from_array(np.array([1, 0, 1] if name == "BOOL" else [3, 2, -1], kind), "w")])
                self.check([x])

    def test_strings_are_refused(self):
        self.save([node("Identity", ["x"], ["y"])], [value("x", ["n", 2], TensorProto.STRING)],
                  [value("y", ["n", 2], TensorProto.STRING)])
        self.assertRegex(self.refused(b"ab"), "^m.onnx: .*input 'x' has element")

    def test_whole_shapes_are_listed(self):
        mlp = Fixture("mlp")
        for flags in ([], [f"--shape=input={mlp.rows}x64"]):
            done = infer(mlp.path, (FIXTURES / "mlp.in.bin").read_bytes(), *flags)
            shapes = {t["name"]: (t["datatype"], t["shape"]) for key in ("inputs", "outputs") for t in done.document[key]}
            self.assertEqual(shapes, {"input": ("FP32", [mlp.rows, 64]), "output": ("FP32", [mlp.rows, 16])})
            self.assertEqual(done.document["rows"], 1 if flags else mlp.rows)

    def test_outputs_may_depend_on_values(self):
        write_positive(self.file)
        for values in ([1, -1, 2], [-1], list(range(1, 200))):
            for flags in ([], [f"--shape=x={len(values)}"]):
                with self.subTest(values=len(values), flags=flags):
                    document = self.check([np.array(values, np.float32)], *flags)
                    self.assertEqual(document["outputs"][0]["shape"], [1, sum(v > 0 for v in values)])
        self.assertEqual((self.profile(), self.profile("--shape=x=40")), ([1, 2], [1]))
        self.save([node("NonZero", ["x"], ["y"])], [value("x", [2, 3])], [value("y", [2, "k"], INT64)])
        self.check([np.array([[0, 1, 2], [3, 0, 0]], np.float32)])  # static inputs need no --shape
        self.assertEqual(self.profile(), [1])

    def test_boxes_are_suppressed(self):
        self.save_boxes()
        for n in (6, 50):
            self.check(boxes(n), f"--shape=boxes=1x{n}x4", f"--shape=scores=1x1x{n}")
        self.assertEqual(self.profile("--shape=boxes=1x6x4", "--shape=scores=1x1x6"), [1])
        self.assertIn("--shape", self.refused(boxes(6)))  # two dimensions are free

    def test_the_native_engine_takes_the_shape_of_a_batch(self):
        mlp = Fixture("mlp")
        self.file.write_bytes(Path(mlp.path).read_bytes())
        x = np.frombuffer((FIXTURES / "mlp.in.bin").read_bytes(), np.float32).reshape(mlp.rows, 64)[:3]
        batch = infer(self.file, [x], "--engine=native")
        whole = infer(self.file, [x], "--engine=native", "--shape=input=3x64")
        self.assertEqual((whole.code, whole.document["rows"], whole.document["outputs"][0]["shape"]), (0, 1, [3, 16]))
        np.testing.assert_array_equal(whole.outputs[0], batch.outputs[0])
        self.assertEqual(self.profile("--engine=native", "--shape=input=3x64"), [1])
        for shape, reason in (("3x63", "a row of it cannot be"), ("3", "a row of it cannot be"), ("3x64x1", "a row of it cannot be"),
                              ("", "takes batches")):
            self.assertRegex(self.refused([x], "--engine=native", f"--shape=input={shape}"),
                             f"^m.onnx: .*{reason}.*--engine openvino or auto")
        self.assertIn("has no input 'other'", self.refused([x], "--engine=native", "--shape=other=3x64"))
        self.assertIn("m.bin: has 768 bytes; inputs of these shapes have 1280".replace("m.bin", "in"),
                      self.refused([x], "--engine=native", "--shape=input=5x64"))
        self.save([node("MatMul", ["a", "b"], ["y"])], [value("a", ["n", 4]), value("b", ["m", 4, 2])], [value("y", ["m", "n", 2])])
        self.assertRegex(self.refused(b"", "--engine=native", "--shape=a=3x4", "--shape=b=2x4x2"), "have the same first dimension")
        self.check([np.ones((3, 4), np.float32), np.ones((2, 4, 2), np.float32)], "--shape=a=3x4", "--shape=b=2x4x2")

    def test_failures_at_run_time_name_the_model(self):
        self.save([node("Reshape", ["x", "to"], ["y"], "fold")], [value("x", ["n", 3])], [value("y", ["m", 2])],
                  [whole_numbers("to", [-1, 2])])
        self.check([np.ones((4, 3), np.float32)])
        for flags in ([], ["--engine=openvino"]):
            self.assertRegex(self.refused([np.ones((3, 3), np.float32)], *flags), "^m.onnx: .*node 'fold'|^m.onnx: .*'y' \\(Reshape\\)")
        self.save([node("Gather", ["table", "ids"], ["y"], "words")], [value("ids", ["n", 2], INT64)], [value("y", ["n", 2, 1])],
                  [numpy_helper.from_array(np.ones((5, 1), np.float32), "table")])
        self.check([np.array([[0, 4]])])
        self.assertRegex(self.refused([np.array([[0, 5]])]), "^m.onnx: node 'words' \\(Gather\\)")

    def save_scaled(self):
        """y = x * scale, and the scale: a scalar input and output."""
        self.save([node("Mul", ["x", "scale"], ["y"]), node("Neg", ["scale"], ["minus"])],
                  [value("x", ["n", 2]), value("scale", [])], [value("y", ["n", 2]), value("minus", [])])

    def test_scalars(self):
        self.save_scaled()
        x, scale = np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array(2.5, np.float32)
        for flags in (["--shape=x=3x2", "--shape=scale="], ["--shape=x=3x2"], []):
            document = self.check([x, scale], *flags)
            self.assertEqual([o["shape"] for o in document["outputs"]], [[3, 2], []])
        self.save([node("Neg", ["s"], ["y"])], [value("s", [])], [value("y", [])])
        self.check([scale])
        self.check([scale], "--shape=s=")

    def test_scalars_are_served(self):
        self.save_scaled()
        text = f"""[[model]]
name = "scaled"
source = "{self.file}"
slo_ms = 10000
batching = "none"
shapes = {{ x = [3, 2], scale = [] }}
"""
        with Cluster(model_text=text) as c:
            c.start()
            metadata = json.loads(c.get("/v2/models/scaled")[1])
            self.assertEqual([t["shape"] for t in metadata["inputs"]], [[3, 2], []])
            body = lambda shape, data: json.dumps({"inputs": [
                {"name": "x", "shape": [3, 2], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]},
                {"name": "scale", "shape": shape, "datatype": "FP32", "data": data}]})
            code, answer = c.infer("scaled", body([], [2.5]))
            self.assertEqual(code, 200, answer)
            self.assertEqual([(o["shape"], o["data"]) for o in answer["outputs"]],
                             [([3, 2], [2.5, 5, 7.5, 10, 12.5, 15]), ([], [-2.5])])
            for shape, data in (([1], [2.5]), ([], [1, 2]), ([], [])):
                code, answer = c.infer("scaled", body(shape, data))
                self.assertEqual(code, 400, answer)
                self.assertIn('"scale"', answer["error"])


if __name__ == "__main__":
    cluster.main()
