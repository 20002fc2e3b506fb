#!/usr/bin/env python3
"""Models with free dimensions: requests have their own shapes, beside the declared shapes of a model or without any. Those of
equal shapes run together if `max_batch` is more than 1. Answers are onnxruntime's for the request; outputs may depend on values.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import concurrent.futures
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import cluster
import processes
from cluster import Cluster, ClusterTest
from package_models import DETECTOR, distance, picture
from shapes_overload_test import write_slow
from shapes_test import WIDTH, body_of, words_of, write_words


def write_positive(path):
    """x [length] to the indices of its positive values [1, count]."""
    graph = helper.make_graph(
        [helper.make_node("Greater", ["x", "zero"], ["positive"]), helper.make_node("NonZero", ["positive"], ["indices"])],
        "positive", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["length"])],
        [helper.make_tensor_value_info("indices", TensorProto.INT64, [1, "count"])],
        [helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class AnyShape(ClusterTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.words, cls.positive, cls.slow = (Path(folder.name, f"{name}.onnx") for name in ("words", "positive", "slow"))
        write_words(cls.words)
        write_positive(cls.positive)
        write_slow(cls.slow, "rows")
        cls.cluster = Cluster(model_text=f"""[[model]]
name = "words"
source = "{cls.words}"
slo_ms = 20000
max_batch = 8
shapes = [ {{ ids = [4], mask = [4] }}, {{ ids = [8], mask = [8] }} ]
any_shape = true
[[model]]
name = "detector"
source = "{DETECTOR}"
slo_ms = 20000
any_shape = true
[[model]]
name = "positive"
source = "{cls.positive}"
slo_ms = 20000
any_shape = true
[[model]]
name = "together"
source = "{cls.words}"
slo_ms = 20000
any_shape = true
max_batch = 16
[[model]]
name = "slow"
source = "{cls.slow}"
slo_ms = 20000
any_shape = true
max_batch = 16
[[model]]
name = "no_rows"
source = "{cls.positive}"
slo_ms = 20000
any_shape = true
max_batch = 16
""")
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.cluster.start()

    def check(self, model, file, inputs, within=1e-5):
        code, answer = self.cluster.infer(model, body_of(inputs))
        self.assertEqual(code, 200, answer)
        self.assertEqual(answer["model_name"], model)
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        for got, expected in zip(answer["outputs"], session.run(None, inputs), strict=True):
            self.assertEqual(tuple(got["shape"]), expected.shape)
            self.assertLess(distance(np.array(got["data"]), expected.ravel().astype(np.float64)), within)

    def statistics(self, model, what="inference_count"):
        listed = json.loads(self.cluster.get(f"/v2/models/{model}/stats")[1])["model_stats"]
        return {m["name"]: m[what] for m in listed}

    def test_declared_shapes_run_in_their_models_and_all_others_in_one(self):
        before = self.statistics("words")
        for length, rows in ((4, 3), (8, 1), (5, 2), (1, 1), (100, 7)):
            self.check("words", self.words, words_of(length, rows))
        after = self.statistics("words")
        self.assertEqual({name: after[name] - before[name] for name in after},
                         {"words@4_4": 3, "words@8_8": 1, "words@any": 10})

    def test_requests_of_equal_shapes_run_together(self):
        """They wait while long requests run."""
        def ask(length, rows, seed):
            self.check("slow", self.slow, {"ids": words_of(length, rows, seed)["ids"]}, within=1e-4)

        counts = lambda: np.array([self.statistics("slow", what)["slow"] for what in ("inference_count", "execution_count")])
        before = counts()
        with concurrent.futures.ThreadPoolExecutor(98) as pool:
            long = [pool.submit(ask, 4000, 1, i) for i in range(2)]
            asked = [pool.submit(ask, 3 + 2 * (i % 3), 1 + i % 2, i) for i in range(96)]
            for one in long + asked:
                one.result()
        rows, batches = counts() - before
        self.assertEqual(rows, 2 + 144)
        self.assertLess(batches, 2 + 80, "of 2 + 96 requests")

    def test_requests_that_are_too_large_or_disagree_on_their_rows_are_refused(self):
        code, answer = self.cluster.infer("together", body_of(words_of(5, 17)))
        self.assertEqual(code, 400, answer)
        self.assertIn("17 rows; model 'together' takes at most 16", answer["error"])
        code, answer = self.cluster.infer("together", body_of(words_of(5, 2) | {"mask": np.ones((3, 5), np.float32)}))
        self.assertEqual(code, 400, answer)
        self.assertIn("input 'mask' must begin with the number of rows", answer["error"])

    def test_outputs_without_rows_are_those_of_each_request(self):
        """Though the cluster file says that requests may run together."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: self.check("no_rows", self.positive, {"x": np.array([1, -i, 2], np.float32)}), range(24)))

    def test_metadata_say_minus_one(self):
        shapes = lambda model, key: [t["shape"] for t in json.loads(self.cluster.get(f"/v2/models/{model}")[1])[key]]
        self.assertEqual(shapes("words", "inputs"), [[-1, -1], [-1, -1]])
        self.assertEqual(shapes("words", "outputs"), [[-1, -1, WIDTH], [-1, WIDTH]])
        self.assertEqual(shapes("words@any", "inputs"), [[-1, -1], [-1, -1]])
        self.assertEqual([len(s) for s in shapes("detector", "inputs")], [4])
        self.assertEqual(shapes("positive", "outputs"), [[1, -1]])

    def test_pictures_of_any_size(self):
        for height, width in ((96, 160), (64, 64), (128, 96)):
            self.check("detector", DETECTOR, {"x": picture("TO", height, width, 5)[None]}, within=1e-4)

    def test_an_output_may_depend_on_values(self):
        for values in ([1, -1, 2], [-1.5], list(range(1, 200))):
            self.check("positive", self.positive, {"x": np.array(values, np.float32)})

    def test_many_shapes_at_once(self):
        lengths = [1 + 3 * i for i in range(48)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: self.check("words", self.words, words_of(n, 1 + n % 3, n)), lengths))

    def test_wrong_shapes_are_refused(self):
        for inputs, reason in (({"x": np.zeros((2, 2), np.float32)}, "shape [2,2] given, [-1] expected"),
                               ({"x": np.zeros(0, np.float32)}, "shape [0] given")):
            code, answer = self.cluster.infer("positive", body_of(inputs))
            self.assertEqual(code, 400, answer)
            self.assertIn(reason, answer["error"])

    def test_shapes_that_no_memory_holds_are_refused_before_they_take_any(self):
        for shape in ([2**62 + 1], [2**61]):
            body = json.dumps({"inputs": [{"name": "x", "shape": shape, "datatype": "FP32", "data": [1.5] * 100000}]})
            code, answer = self.cluster.infer("positive", body)
            self.assertEqual(code, 413, answer)
        self.check("positive", self.positive, {"x": np.array([1, -1], np.float32)})

    def test_shapes_that_do_not_belong_together_fail_alone(self):
        """OpenVINO's synchronous call answers such a request with the outputs of the one before."""
        uneven = words_of(3) | {"mask": np.ones((1, 7), np.float32)}
        for before in (words_of(14, 2), words_of(3)):
            self.check("words", self.words, before)
            for _ in range(2):
                code, answer = self.cluster.infer("words", body_of(uneven))
                self.assertEqual(code, 500)
                self.assertIn("words.onnx: ", answer["error"])
            self.check("words", self.words, before)

    def test_load_gives_the_free_dimensions(self):
        load = lambda *flags: subprocess.run(
            [processes.PROGRAM, "load", self.cluster.url, "--model", "positive", "--rate", "50", "--duration", "1", "--json",
             *flags], capture_output=True, text=True, timeout=60)
        answer = load()
        self.assertEqual(answer.returncode, 2, answer.stdout + answer.stderr)
        self.assertIn("--shape x=", answer.stderr)
        answer = load("--shape", "x=40")
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        self.assertGreater(json.loads(answer.stdout)["total"]["finished"], 20)


if __name__ == "__main__":
    cluster.main()
