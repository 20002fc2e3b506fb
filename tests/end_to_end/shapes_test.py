#!/usr/bin/env python3
"""Models with several shapes: requests run in the one of their shape, or padded; answers are onnxruntime's for the request
alone. For five times too much load see shapes_overload_test.py.

Needs the Python of tests/requirements.txt.
"""
import concurrent.futures
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import cluster
from cluster import Cluster, ClusterTest
from package_models import DETECTOR, distance, picture

WORDS, WIDTH, LENGTHS = 50, 16, (4, 8, 16)
PAD = f"pad = {{ axis = 1, to = {list(LENGTHS)}, inputs = {{ ids = 3, mask = 0 }} }}\n"


def write_words(path):
    """ids and mask [N, S] to states [N, S, 16] and their mean [N, 16], where the mask is 1."""
    random = np.random.default_rng(7)
    constant = lambda name, value: numpy_helper.from_array(value, name)
    table = random.standard_normal((WORDS, WIDTH)).astype(np.float32)
    mixing = random.standard_normal((WIDTH, WIDTH)).astype(np.float32)
    node = helper.make_node
    graph = helper.make_graph(
        [node("Gather", ["table", "ids"], ["words"]), node("MatMul", ["words", "mixing"], ["mixed"]),
         node("Tanh", ["mixed"], ["states"]), node("Unsqueeze", ["mask", "last"], ["column"]),
         node("Mul", ["states", "column"], ["kept"]), node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
         node("ReduceSum", ["mask", "middle"], ["count"], keepdims=1), node("Div", ["sum", "count"], ["mean"])],
        "words",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", "length"]),
         helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["rows", "length"])],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["rows", "length", WIDTH]),
         helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["rows", WIDTH])],
        [constant("table", table), constant("mixing", mixing), constant("last", np.array([2], np.int64)),
         constant("middle", np.array([1], np.int64))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def words_of(length, rows=1, seed=0):
    ids = np.random.default_rng(100 * seed + length).integers(0, WORDS, (rows, length))
    return {"ids": ids.astype(np.int64), "mask": np.ones((rows, length), np.float32)}


def body_of(inputs):
    types = {np.dtype(np.int64): "INT64", np.dtype(np.float32): "FP32"}
    return json.dumps({"inputs": [{"name": name, "shape": list(v.shape), "datatype": types[v.dtype],
                                   "data": v.ravel().tolist()} for name, v in inputs.items()]})


class Shapes(ClusterTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.words = Path(folder.name, "words.onnx")
        write_words(cls.words)
        cls.cluster = Cluster(model_text=f"""[[model]]
name = "words"
source = "{cls.words}"
slo_ms = 20000
max_batch = 8
{PAD}
[[model]]
name = "detector"
source = "{DETECTOR}"
slo_ms = 20000
batching = "none"
shapes = [ {{ x = [1, 3, 96, 160] }}, {{ x = [1, 3, 160, 96] }} ]
""")
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.cluster.start()

    def ask(self, model, inputs):
        code, answer = self.cluster.infer(model, body_of(inputs))
        self.assertEqual(code, 200, answer)
        self.assertEqual(answer["model_name"], model)
        return answer

    def check(self, model, file, inputs, within=1e-5):
        answer = self.ask(model, inputs)
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        for got, expected in zip(answer["outputs"], session.run(None, inputs), strict=True):
            self.assertEqual(tuple(got["shape"]), expected.shape)
            self.assertLess(distance(np.array(got["data"]), expected.ravel().astype(np.float64)), within)
        return answer

    def metadata(self, model):
        return json.loads(self.cluster.get(f"/v2/models/{model}")[1])

    def test_open_dimensions_are_minus_one(self):
        shapes = lambda model, key: [t["shape"] for t in self.metadata(model)[key]]
        self.assertEqual(shapes("words", "inputs"), [[-1, -1], [-1, -1]])
        self.assertEqual(shapes("words", "outputs"), [[-1, -1, WIDTH], [-1, WIDTH]])
        self.assertEqual(shapes("detector", "inputs"), [[1, 3, -1, -1]])
        self.assertEqual(shapes("words@8", "inputs"), [[-1, 8], [-1, 8]])
        names = [m["name"] for m in json.loads(self.cluster.get("/v2/models")[1])["models"] if m["ready"]]
        for name in ("words", "words@4", "detector", "detector@1x3x96x160"):
            self.assertIn(name, names)
        self.assertEqual(self.cluster.get("/v2/models/words/ready")[0], 200)
        statistics = json.loads(self.cluster.get("/v2/models/words/stats")[1])
        self.assertEqual([s["name"] for s in statistics["model_stats"]], [f"words@{n}" for n in LENGTHS])

    def test_padding_changes_no_answer(self):
        for length in range(1, LENGTHS[-1] + 1):
            for rows in (1, 3):
                with self.subTest(length=length, rows=rows):
                    self.check("words", self.words, words_of(length, rows))

    def test_requests_of_mixed_lengths_at_once(self):
        ask = lambda seed: self.check("words", self.words, words_of(1 + seed % LENGTHS[-1], seed=seed))
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(ask, range(64)))
        self.assertGreater(max(a["parameters"]["batch_rows"] for a in answers), 1, "none ran together")

    def test_each_shape_of_pictures(self):
        for height, width in ((96, 160), (160, 96)):
            self.check("detector", DETECTOR, {"x": picture("TO", height, width, 5)[None]}, 1e-4)

    def test_other_shapes_are_refused(self):
        def refusal(model, inputs):
            code, answer = self.cluster.infer(model, body_of(inputs))
            self.assertEqual(code, 400, answer)
            return answer["error"]
        self.assertEqual(refusal("detector", {"x": np.zeros((1, 3, 96, 96), np.float32)}),
                         'input "x": shape [1,3,96,96] given; the model has the shapes [1,3,96,160], [1,3,160,96]')
        self.assertEqual(refusal("words", words_of(17)), 'input "ids": dimension 1 is 17; the model takes 1 to 16')
        uneven = words_of(3) | {"mask": np.ones((1, 4), np.float32)}
        self.assertEqual(refusal("words", uneven), 'input "mask": shape [1,4] given, [-1,3] expected, where -1 is the '
                                                   "number of rows")
        self.assertIn("is missing", refusal("words", {"ids": words_of(3)["ids"]}))
        self.assertIn("at most 8", refusal("words", words_of(3, rows=9)))


if __name__ == "__main__":
    cluster.main()
