#!/usr/bin/env python3
"""Tensors of every datatype through a cluster and back: unchanged (Identity) and as FP64 (Cast), in binary and, where
the type has a JSON form, in JSON.

Needs the Python of tests/requirements.txt.
"""
import itertools
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import tritonclient.http as triton
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

import cluster
from cluster import Cluster

# Names of types in V2 and ONNX, and their numpy types. No BYTES: the engine has no models of strings.
TYPES = {"BOOL": (TensorProto.BOOL, np.bool_), "UINT8": (TensorProto.UINT8, np.uint8),
         "UINT16": (TensorProto.UINT16, np.uint16), "UINT32": (TensorProto.UINT32, np.uint32),
         "UINT64": (TensorProto.UINT64, np.uint64), "INT8": (TensorProto.INT8, np.int8),
         "INT16": (TensorProto.INT16, np.int16), "INT32": (TensorProto.INT32, np.int32),
         "INT64": (TensorProto.INT64, np.int64), "FP16": (TensorProto.FLOAT16, np.float16),
         "BF16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16), "FP32": (TensorProto.FLOAT, np.float32),
         "FP64": (TensorProto.DOUBLE, np.float64)}
WITHOUT_JSON = ("FP16", "BF16")


def write_model(path, element):
    rows = ["rows", 4]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"]),
         helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.DOUBLE)], "datatype",
        [helper.make_tensor_value_info("x", element, rows)],
        [helper.make_tensor_value_info("same", element, rows),
         helper.make_tensor_value_info("wide", TensorProto.DOUBLE, rows)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def samples(kind):
    """Twelve numbers, the extreme ones included; all finite."""
    if kind == np.bool_:
        return np.array([0, 1, 1, 0] * 3, kind)
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        return np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1, 7, 10, 100, 101, 2, 3], kind)
    info = ml_dtypes.finfo(kind)
    return np.array([info.min, info.max, 0.0, -0.0, info.tiny, -info.smallest_subnormal, 1, -1.5, 0.1, 1 / 3, 100, -7],
                    kind)


class Datatypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(models=())
        cls.addClassCleanup(cls.cluster.__exit__)
        with cls.cluster.file.open("a") as file:
            for name, (element, _) in TYPES.items():
                model = Path(cls.cluster.folder.name, name + ".onnx")
                write_model(model, element)
                file.write(f'[[model]]\nname = "{name}"\nsource = "{model}"\nslo_ms = 10000\nmax_batch = 4\n')
        cls.cluster.start()
        cls.client = triton.InferenceServerClient(f"127.0.0.1:{cls.cluster.http_port}",
                                                  network_timeout=cluster.PATIENCE,
                                                  connection_timeout=cluster.PATIENCE)
        cls.addClassCleanup(cls.client.close)

    def infer(self, name, values, binary_in, binary_out):
        """The answers for the values unchanged, and as FP64."""
        x = triton.InferInput("x", values.shape, name)
        x.set_data_from_numpy(values, binary_data=binary_in)
        wanted = [triton.InferRequestedOutput(o, binary_data=binary_out) for o in ("same", "wide")]
        result = self.client.infer(name, [x], outputs=wanted)
        same, wide = result.as_numpy("same"), result.as_numpy("wide")
        self.assertEqual((same.dtype, wide.dtype), (values.dtype, np.float64))
        return same, wide

    def test_every_type_comes_back_in_binary_and_json(self):
        for name, (_, kind) in TYPES.items():
            values = samples(kind).reshape(3, 4)
            for binary_in, binary_out in itertools.product((True, False), repeat=2):
                if name in WITHOUT_JSON and not (binary_in and binary_out):
                    continue
                with self.subTest(name, binary_in=binary_in, binary_out=binary_out):
                    same, wide = self.infer(name, values, binary_in, binary_out)
                    np.testing.assert_array_equal(same, values)
                    np.testing.assert_array_equal(wide, values.astype(np.float64))

    def test_what_is_no_number_comes_back_in_binary_bit_by_bit(self):
        for name in ("FP16", "BF16", "FP32", "FP64"):
            values = np.array([[np.inf, -np.inf, np.nan, 1]], TYPES[name][1])
            with self.subTest(name):
                same, wide = self.infer(name, values, True, True)
                self.assertEqual(same.tobytes(), values.tobytes())
                np.testing.assert_array_equal(wide, values.astype(np.float64))

    def test_a_type_without_a_form_in_json_says_so(self):
        for name in WITHOUT_JSON:
            with self.assertRaisesRegex(InferenceServerException, "no JSON form; ask for binary data"):
                self.infer(name, samples(TYPES[name][1]).reshape(3, 4), True, False)

    def test_metadata_and_configuration_name_the_types(self):
        for name in TYPES:
            self.assertEqual(self.client.get_model_metadata(name)["inputs"],
                             [{"name": "x", "datatype": name, "shape": [-1, 4]}])
            self.assertEqual(self.client.get_model_config(name)["input"],
                             [{"name": "x", "data_type": "TYPE_" + name, "dims": [4]}])


if __name__ == "__main__":
    cluster.main()
