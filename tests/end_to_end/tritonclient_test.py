#!/usr/bin/env python3
"""NVIDIA's tritonclient from PyPI against a cluster: all applicable methods, results against golden outputs.

Needs the Python of tests/requirements.txt.
"""
import shutil
import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

import cluster
from cluster import Cluster
from fixtures import Fixture, relative_l2
from processes import PATIENCE, Process, eventually, free_ports


def write_sums(path, columns=4):
    """A model with two inputs and three outputs of two types."""
    rows = ["rows", columns]
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Mul", ["a", "b"], ["product"]),
         helper.make_node("Cast", ["a"], ["whole"], to=TensorProto.INT64)], "sums",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, rows) for name in ("a", "b")],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, rows),
         helper.make_tensor_value_info("product", TensorProto.FLOAT, rows),
         helper.make_tensor_value_info("whole", TensorProto.INT64, rows)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class TritonClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(models=("mlp", "encoder"))
        cls.addClassCleanup(cls.cluster.__exit__)
        model = Path(cls.cluster.folder.name, "sums.onnx")
        write_sums(model)
        with cls.cluster.file.open("a") as file:
            file.write(f'[[model]]\nname = "sums"\nsource = "{model}"\nslo_ms = 10000\nmax_batch = 16\n')
        cls.cluster.start()
        cls.address = f"127.0.0.1:{cls.cluster.http_port}"
        cls.client = triton.InferenceServerClient(cls.address, concurrency=4, network_timeout=PATIENCE,
                                                  connection_timeout=PATIENCE)
        cls.addClassCleanup(cls.client.close)
        cls.mlp, cls.encoder = Fixture("mlp"), Fixture("encoder")

    def golden(self, fixture):
        """Its input in the client's format, and the golden output."""
        kind = {"FP32": np.float32, "INT64": np.int64}[fixture.datatype]
        values = np.array(fixture.input, dtype=kind).reshape(fixture.input_shape)
        tensor = triton.InferInput(fixture.input_name, values.shape, fixture.datatype)
        return tensor, values, np.array(fixture.output, dtype=np.float32).reshape(fixture.output_shape)

    def assert_close(self, got, expected):
        self.assertEqual(got.shape, expected.shape)
        self.assertLessEqual(relative_l2(got.ravel().tolist(), expected.ravel().tolist()), 1e-4)

    def sums(self, binary=True, rows=3):
        a = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        b = np.full((rows, 4), 0.5, dtype=np.float32)
        inputs = [triton.InferInput(name, values.shape, "FP32") for name, values in (("b", b), ("a", a))]
        inputs[0].set_data_from_numpy(b, binary_data=binary)
        inputs[1].set_data_from_numpy(a, binary_data=not binary)
        return a, b, inputs

    def refused(self, *words):
        """A context in which the client raises an error with these words in its message."""
        return self.assertRaisesRegex(InferenceServerException, ".*".join(words))

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("mlp"))
        self.assertTrue(self.client.is_model_ready("mlp", "1"))
        self.assertFalse(self.client.is_model_ready("mlp", "2"))
        self.assertFalse(self.client.is_model_ready("nobody"))
        server = self.client.get_server_metadata()
        self.assertEqual(server["name"], "troupe")
        self.assertEqual(server["extensions"], ["binary_tensor_data", "classification", "model_configuration",
                                                "model_repository", "parameters", "statistics"])
        model = self.client.get_model_metadata("sums")
        self.assertEqual((model["name"], model["versions"]), ("sums", ["1"]))
        self.assertEqual([t["name"] for t in model["inputs"]], ["a", "b"])
        self.assertEqual(model["outputs"][2], {"name": "whole", "datatype": "INT64", "shape": [-1, 4]})

    def test_configuration_and_index(self):
        config = self.client.get_model_config("mlp")
        self.assertEqual((config["name"], config["max_batch_size"]), ("mlp", 16))
        self.assertEqual(config["input"], [{"name": "input", "data_type": "TYPE_FP32", "dims": [64]}])
        index = self.client.get_model_repository_index()
        self.assertEqual({m["name"]: m["state"] for m in index}, dict.fromkeys(("mlp", "encoder", "sums"), "READY"))

    def test_golden_outputs_with_json_and_binary_in_every_mixture(self):
        for fixture in (self.mlp, self.encoder):
            tensor, values, expected = self.golden(fixture)
            for binary_in in (False, True):
                for binary_out in (False, True):
                    with self.subTest(fixture.name, binary_in=binary_in, binary_out=binary_out):
                        tensor.set_data_from_numpy(values, binary_data=binary_in)
                        wanted = triton.InferRequestedOutput(fixture.output_name, binary_data=binary_out)
                        result = self.client.infer(fixture.name, [tensor], outputs=[wanted])
                        self.assert_close(result.as_numpy(fixture.output_name), expected)

    def test_several_inputs_and_the_outputs_that_were_asked_for(self):
        for binary in (False, True):
            a, b, inputs = self.sums(binary)
            whole = self.client.infer("sums", inputs)
            np.testing.assert_array_equal(whole.as_numpy("sum"), a + b)
            np.testing.assert_array_equal(whole.as_numpy("product"), a * b)
            np.testing.assert_array_equal(whole.as_numpy("whole"), a.astype(np.int64))
            outputs = [triton.InferRequestedOutput("whole", binary_data=binary),
                       triton.InferRequestedOutput("sum", binary_data=not binary)]
            part = self.client.infer("sums", inputs, outputs=outputs)
            self.assertEqual([t["name"] for t in part.get_response()["outputs"]], ["whole", "sum"])
            np.testing.assert_array_equal(part.as_numpy("sum"), a + b)
            np.testing.assert_array_equal(part.as_numpy("whole"), a.astype(np.int64))
            self.assertIsNone(part.as_numpy("product"))

    def test_async_infer(self):
        a, b, inputs = self.sums()
        waiting = [self.client.async_infer("sums", inputs, request_id=str(i)) for i in range(20)]
        for i, w in enumerate(waiting):
            result = w.get_result()
            self.assertEqual(result.get_response()["id"], str(i))
            np.testing.assert_array_equal(result.as_numpy("sum"), a + b)

    def test_ids_versions_and_parameters(self):
        a, b, inputs = self.sums()
        result = self.client.infer("sums", inputs, model_version="1", request_id="caf\u00e9 7", priority=2,
                                   timeout=5_000_000, parameters={"whatever": "x", "slo_ms": 4000.5})
        self.assertEqual(result.get_response()["id"], "caf\u00e9 7")
        np.testing.assert_array_equal(result.as_numpy("sum"), a + b)
        with self.refused("deadline"):
            self.client.infer("sums", inputs, timeout=1)  # in microseconds

    def test_compression_of_requests_and_responses(self):
        tensor, values, expected = self.golden(self.mlp)
        for coding in ("gzip", "deflate"):
            for binary in (False, True):
                with self.subTest(coding, binary=binary):
                    tensor.set_data_from_numpy(values, binary_data=binary)
                    wanted = triton.InferRequestedOutput(self.mlp.output_name, binary_data=binary)
                    result = self.client.infer("mlp", [tensor], outputs=[wanted],
                                               request_compression_algorithm=coding,
                                               response_compression_algorithm=coding)
                    self.assert_close(result.as_numpy(self.mlp.output_name), expected)

    def test_classification(self):
        tensor, values, expected = self.golden(self.mlp)
        tensor.set_data_from_numpy(values)
        for binary in (False, True):
            wanted = triton.InferRequestedOutput(self.mlp.output_name, binary_data=binary, class_count=3)
            got = self.client.infer("mlp", [tensor], outputs=[wanted]).as_numpy(self.mlp.output_name)
            self.assertEqual(got.shape, (self.mlp.rows, 3))
            for row, best in zip(got, expected):
                text = row[0].decode() if isinstance(row[0], bytes) else row[0]
                value, index = text.split(":")
                self.assertEqual(int(index), int(np.argmax(best)))
                self.assertAlmostEqual(float(value), float(best.max()), places=3)

    def test_more_classes_than_there_are(self):
        tensor, values, _ = self.golden(self.mlp)
        tensor.set_data_from_numpy(values)
        wanted = triton.InferRequestedOutput(self.mlp.output_name, class_count=1000)
        got = self.client.infer("mlp", [tensor], outputs=[wanted]).as_numpy(self.mlp.output_name)
        self.assertEqual(got.shape, (self.mlp.rows, self.mlp.output_shape[1]))

    def test_statistics_count_what_was_asked(self):
        def stats():
            (one,) = self.client.get_inference_statistics("encoder")["model_stats"]
            return one
        tensor, values, _ = self.golden(self.encoder)
        tensor.set_data_from_numpy(values)
        before = stats()
        for _ in range(3):
            self.client.infer("encoder", [tensor])
        after = stats()
        self.assertEqual(after["inference_count"] - before["inference_count"], 3 * self.encoder.rows)
        self.assertEqual(after["execution_count"] - before["execution_count"], 3)  # one after the other
        self.assertGreater(after["last_inference"], before["last_inference"])
        spent = after["inference_stats"]
        self.assertEqual(spent["success"]["count"] - before["inference_stats"]["success"]["count"], 3)
        self.assertEqual(spent["fail"]["count"], 0)
        steps = [spent[step]["ns"] for step in ("queue", "compute_input", "compute_infer", "compute_output")]
        self.assertGreater(min(steps[0], steps[2]), 0)
        self.assertAlmostEqual(sum(steps), spent["success"]["ns"], delta=0.2 * spent["success"]["ns"])
        (batch,) = [b for b in after["batch_stats"] if b["batch_size"] == self.encoder.rows]
        self.assertGreaterEqual(batch["compute_infer"]["count"], 3)
        everything = self.client.get_inference_statistics()["model_stats"]
        self.assertEqual({m["name"] for m in everything}, {"mlp", "encoder", "sums"})

    def test_what_is_wrong_raises_with_the_reason(self):
        a, _, inputs = self.sums()
        with self.refused("unknown model", "nobody"):
            self.client.infer("nobody", inputs)
        with self.refused("no version '2'"):
            self.client.infer("sums", inputs, model_version="2")
        with self.refused('input "b" is missing'):
            self.client.infer("sums", inputs[1:])
        with self.refused("output", "nothing", "unknown"):
            self.client.infer("sums", inputs, outputs=[triton.InferRequestedOutput("nothing")])
        narrow = triton.InferInput("input", [1, 3], "FP32")
        narrow.set_data_from_numpy(np.zeros((1, 3), dtype=np.float32))
        with self.refused(r"shape \[1,3\] given, \[-1,64\] expected"):
            self.client.infer("mlp", [narrow])
        for kind, values in (("INT32", np.zeros((1, 64), dtype=np.int32)), ("FP16", np.zeros((1, 64), dtype=np.float16)),
                             ("BOOL", np.zeros((1, 64), dtype=bool)), ("BYTES", np.full((1, 64), b"1", dtype=object))):
            for binary in (True, False):
                if kind == "FP16" and not binary:
                    continue  # the client itself refuses
                with self.subTest(kind, binary=binary):
                    wrong = triton.InferInput("input", [1, 64], kind)
                    wrong.set_data_from_numpy(values, binary_data=binary)
                    with self.refused(f'datatype "{kind}" given, FP32 expected'):
                        self.client.infer("mlp", [wrong])
        many = triton.InferInput("input", [17, 64], "FP32")
        many.set_data_from_numpy(np.zeros((17, 64), dtype=np.float32))
        with self.refused("at most 16"):
            self.client.infer("mlp", [many])
        with self.refused("unknown model"):
            self.client.get_model_metadata("nobody")
        with self.refused("unknown model"):
            self.client.get_model_config("nobody")
        with self.refused("unknown model"):
            self.client.get_inference_statistics("nobody")

    def test_what_is_not_offered_says_so(self):
        for call in (self.client.get_system_shared_memory_status, self.client.get_cuda_shared_memory_status,
                     self.client.unregister_system_shared_memory,
                     self.client.unregister_cuda_shared_memory,
                     lambda: self.client.get_system_shared_memory_status("r"),
                     lambda: self.client.get_cuda_shared_memory_status("r"),
                     lambda: self.client.register_system_shared_memory("r", "/key", 64),
                     lambda: self.client.register_cuda_shared_memory("r", b"handle", 0, 64)):
            with self.refused("shared memory is not supported"):
                call()
        tensor = triton.InferInput("input", [1, 64], "FP32")
        tensor.set_shared_memory("r", 256)
        with self.refused("shared_memory"):
            self.client.infer("mlp", [tensor])
        wanted = triton.InferRequestedOutput("output")
        wanted.set_shared_memory("r", 256)
        tensor, values, _ = self.golden(self.mlp)
        tensor.set_data_from_numpy(values)
        with self.refused("shared_memory"):
            self.client.infer("mlp", [tensor], outputs=[wanted])
        with self.refused("no such path"):
            self.client.get_trace_settings()
        with self.refused("no such path"):
            self.client.get_log_settings()

    def test_requests_made_without_the_client(self):
        """Bodies that the client makes and reads, over a connection of our own; and one that is entirely binary."""
        import http.client
        a, b, inputs = self.sums()
        body, head = triton.InferenceServerClient.generate_request_body(inputs)

        def post(path, data, headers):
            connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
            connection.request("POST", path, data, headers)
            response = connection.getresponse()
            data = response.read()
            connection.close()
            return response, data
        response, data = post("/v2/models/sums/infer", bytes(body), {"Inference-Header-Content-Length": str(head)})
        result = triton.InferenceServerClient.parse_response_body(
            data, header_length=int(response.headers["Inference-Header-Content-Length"]))
        np.testing.assert_array_equal(result.as_numpy("sum"), a + b)
        _, values, expected = self.golden(self.mlp)
        response, data = post("/v2/models/mlp/infer", values.tobytes(), {"Inference-Header-Content-Length": "0"})
        self.assertEqual(response.status, 200, data)
        head = int(response.headers["Inference-Header-Content-Length"])
        self.assert_close(np.frombuffer(data[head:], dtype=np.float32).reshape(expected.shape), expected)
        response, data = post("/v2/models/mlp/infer", b"{}" + struct.pack("<f", 1), {"Inference-Header-Content-Length": "9"})
        self.assertEqual(response.status, 400, data)
        response, data = post("/v2/models/mlp/infer", b"{}", {"Content-Encoding": "br"})
        self.assertEqual(response.status, 415, data)


class Repository(unittest.TestCase):
    def test_models_are_unloaded_and_loaded_by_who_has_the_admin_key(self):
        admin, tenant = "admin-key-0123456789", "tenant-key-0123456789"
        with Cluster(models=("mlp", "encoder")) as c:
            Path(c.folder.name, "models").mkdir()
            write_sums(Path(c.folder.name, "models", "sums.onnx"))
            with c.file.open("a") as file:
                file.write(f'[models]\ndirectory = "models"\n[admin]\nkey = "{admin}"\n'
                           f'[[tenant]]\nname = "t"\nkey = "{tenant}"\n')
            c.start()
            client = triton.InferenceServerClient(f"127.0.0.1:{c.http_port}", network_timeout=PATIENCE,
                                                  connection_timeout=PATIENCE)
            self.addCleanup(client.close)

            def by(key):
                return {"Authorization": f"Bearer {key}"}

            def states():
                return {m["name"]: m["state"] for m in client.get_model_repository_index(headers=by(admin))}
            for change in (client.load_model, client.unload_model):
                with self.assertRaisesRegex(InferenceServerException, "an API key is required"):
                    change("mlp")
                with self.assertRaisesRegex(InferenceServerException, "admin key is required"):
                    change("mlp", headers=by(tenant))
            client.unload_model("mlp", headers=by(admin))
            self.assertFalse(client.is_model_ready("mlp", headers=by(tenant)))
            self.assertTrue(eventually(lambda: states() == {"mlp": "UNAVAILABLE", "encoder": "READY"}))
            self.assertEqual([m["name"] for m in client.get_model_repository_index(headers=by(admin)) if m.get("reason")],
                             ["mlp"])
            client.load_model("mlp", headers=by(admin))
            self.assertTrue(client.is_model_ready("mlp", headers=by(tenant)))
            fixture = Fixture("mlp")
            values = np.array(fixture.input, dtype=np.float32).reshape(fixture.input_shape)
            tensor = triton.InferInput("input", values.shape, "FP32")
            tensor.set_data_from_numpy(values)
            got = client.infer("mlp", [tensor], headers=by(tenant)).as_numpy("output").ravel().tolist()
            self.assertLessEqual(relative_l2(got, list(fixture.output)), 1e-4)
            client.load_model("sums", headers=by(admin), config='{"source": "sums.onnx", "slo_ms": 10000, "max_batch": 8}')
            self.assertEqual(states(), dict.fromkeys(("mlp", "encoder", "sums"), "READY"))
            self.assertEqual(client.get_model_config("sums", headers=by(tenant))["max_batch_size"], 8)
            with self.assertRaisesRegex(InferenceServerException, "only config is supported"):
                client.load_model("other", headers=by(admin), config="{}", files={"file:1/model.onnx": b"bytes"})
            with self.assertRaisesRegex(InferenceServerException, "nobody"):
                client.load_model("nobody", headers=by(admin))


class ServedRepository(unittest.TestCase):
    def test_a_model_repository_is_served_as_its_configurations_say(self):
        mlp = Fixture("mlp")
        (port,) = free_ports(1)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("mlp", "sums"):
                Path(folder, name, "1").mkdir(parents=True)
            shutil.copy(mlp.path, Path(folder, "mlp/1/model.onnx"))
            write_sums(Path(folder, "sums/1/model.onnx"), "columns")
            tensors = "\n".join(f'{kind} [ {{ name: "{name}" data_type: TYPE_{type} dims: [ 4 ] }} ]' for kind, name, type in
                                (("input", "a", "FP32"), ("input", "b", "FP32"), ("output", "sum", "FP32"),
                                 ("output", "product", "FP32"), ("output", "whole", "INT64")))
            Path(folder, "sums/config.pbtxt").write_text(f'platform: "onnxruntime_onnx"\nmax_batch_size: 4\n{tensors}\n')
            p = Process("serve", folder, "--port", str(port))
            try:
                p.wait_line("^troupe: ready ")
                self.assertEqual(p.lines["stderr"], [])
                client = triton.InferenceServerClient(f"127.0.0.1:{port}", network_timeout=PATIENCE)
                self.addCleanup(client.close)
                model = client.get_model_metadata("sums")
                self.assertEqual(model["inputs"], [{"name": n, "datatype": "FP32", "shape": [-1, 4]} for n in ("a", "b")])
                self.assertEqual(client.get_model_config("sums")["max_batch_size"], 4)
                a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.full((3, 4), 2, dtype=np.float32)
                inputs = [triton.InferInput(name, (3, 4), "FP32") for name in ("a", "b")]
                for tensor, values in zip(inputs, (a, b)):
                    tensor.set_data_from_numpy(values)
                result = client.infer("sums", inputs)
                np.testing.assert_array_equal(result.as_numpy("sum"), a + b)
                np.testing.assert_array_equal(result.as_numpy("whole"), a.astype(np.int64))
                wide = [triton.InferInput(name, (5, 4), "FP32") for name in ("a", "b")]
                for tensor in wide:
                    tensor.set_data_from_numpy(np.zeros((5, 4), dtype=np.float32))
                with self.assertRaisesRegex(InferenceServerException, "at most 4"):
                    client.infer("sums", wide)
                tensor = triton.InferInput(mlp.input_name, mlp.input_shape, mlp.datatype)
                tensor.set_data_from_numpy(np.array(mlp.input, dtype=np.float32).reshape(mlp.input_shape))
                got = client.infer("mlp", [tensor]).as_numpy(mlp.output_name).ravel().tolist()
                self.assertLessEqual(relative_l2(got, list(mlp.output)), 1e-4)
                self.assertEqual(p.terminate(), 0)
            finally:
                p.kill()


class AsyncioClient(unittest.IsolatedAsyncioTestCase):
    async def test_the_asyncio_client_gets_golden_outputs(self):
        with Cluster() as c:
            c.start()
            fixture = Fixture("mlp")
            values = np.array(fixture.input, dtype=np.float32).reshape(fixture.input_shape)
            expected = np.array(fixture.output, dtype=np.float32)
            async with triton_aio.InferenceServerClient(f"127.0.0.1:{c.http_port}") as client:
                self.assertTrue(await client.is_server_ready())
                tensor = triton_aio.InferInput("input", values.shape, "FP32")
                tensor.set_data_from_numpy(values)
                for coding in (None, "gzip"):
                    result = await client.infer("mlp", [tensor], request_compression_algorithm=coding,
                                                response_compression_algorithm=coding)
                    got = result.as_numpy("output").ravel().tolist()
                    self.assertLessEqual(relative_l2(got, expected.tolist()), 1e-4)


if __name__ == "__main__":
    cluster.main()
