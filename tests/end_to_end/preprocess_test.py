#!/usr/bin/env python3
"""Models with `preprocess` take image files: by JSON, binary data, raw bodies and tritonclient, against Pillow, numpy and
onnxruntime.

Needs the Python of tests/requirements.txt.
"""
import base64
import io
import json
import subprocess
import threading
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import tritonclient.http as triton
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, PngImagePlugin
from tritonclient.utils import InferenceServerException

import cluster
import processes
from cluster import Cluster
from fixtures import ROOT
from processes import PATIENCE, descendants

IMAGES = ROOT / "tests/fixtures/images"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HEIGHT, WIDTH = 24, 32
PREPROCESS = (f'{{ decode = "image", resize = 40, crop = [{HEIGHT}, {WIDTH}], mean = {list(MEAN)}, std = {list(STD)}, '
              'layout = "NCHW" }')
GOOD = ("base.png", "baseline.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "palette_alpha.png", "interlaced.png",
        "rgb_16_bits.png", "lossy.webp", "lossless_alpha.webp")
BAD = {"refused/60000x60000.png": "a PNG of 60000 x 60000 = 3600000000 pixels, more than preprocess.max_pixels = 33554432",
       "refused/16383x16383.webp": "a WebP of 16383 x 16383 = 268402689 pixels, more than",
       "refused/65500x65500.jpg": "a JPEG of 65500 x 65500 = 4290250000 pixels, more than",
       "refused/animated.webp": "is an animated WebP",
       "refused/grey_16_bits.png": "is a PNG of 16-bit greyscale",
       "refused/image.gif": "does not begin like a JPEG, PNG or WebP file"}


def write_classifier(path):
    """The input, doubled, and five scores of each image."""
    weights = np.random.default_rng(3).normal(size=(5, 3, 3, 3)).astype(np.float32)
    rows = ["rows", 3, HEIGHT, WIDTH]
    graph = helper.make_graph(
        [helper.make_node("Add", ["image", "image"], ["twice"]),
         helper.make_node("Conv", ["image", "weights"], ["features"], strides=[2, 2]),
         helper.make_node("GlobalAveragePool", ["features"], ["pooled"]),
         helper.make_node("Flatten", ["pooled"], ["scores"])], "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, rows)],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, rows),
         helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", 5])],
        [numpy_helper.from_array(weights, "weights")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_bytes_model(path):
    """Pixels as numbers; with a second input."""
    rows = ["rows", 20, 30, 3]
    graph = helper.make_graph(
        [helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
         helper.make_node("Add", ["factor", "factor"], ["twice"])], "bytes",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, rows),
         helper.make_tensor_value_info("factor", TensorProto.FLOAT, ["rows", 1])],
        [helper.make_tensor_value_info("numbers", TensorProto.FLOAT, rows),
         helper.make_tensor_value_info("twice", TensorProto.FLOAT, ["rows", 1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def tensor_of(data):
    """As torchvision: Resize(40), CenterCrop, ToTensor, Normalize."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    short, long = sorted(image.size)
    size = (40, int(40 * long / short)) if image.width <= image.height else (int(40 * long / short), 40)
    image = image.resize(size, Image.Resampling.BILINEAR)
    left, top = int(round((image.width - WIDTH) / 2.0)), int(round((image.height - HEIGHT) / 2.0))
    values = np.asarray(image.crop((left, top, left + WIDTH, top + HEIGHT)), dtype=np.float32) / 255
    return ((values - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1)


def photo(width, height, seed):
    small = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()


def json_body(files, shape=None):
    return json.dumps({"inputs": [{"name": "image", "datatype": "BYTES", "shape": shape or [len(files)],
                                   "data": [base64.b64encode(f).decode() for f in files]}]})


def triton_input(files, shape, name="image", binary=True):
    values = np.array(files, dtype=object).reshape(shape)
    tensor = triton.InferInput(name, values.shape, "BYTES")
    tensor.set_data_from_numpy(values, binary_data=binary)
    return tensor


class Preprocess(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(model_text='[models]\ndirectory = "."\n', limits="node_timeout_ms = 20000\npool_mb = 256")
        cls.addClassCleanup(cls.cluster.__exit__)
        folder = Path(cls.cluster.folder.name)
        cls.model, pixels = folder / "classifier.onnx", folder / "bytes.onnx"
        write_classifier(cls.model)
        write_bytes_model(pixels)
        with cls.cluster.file.open("a") as file:
            file.write(f'[[model]]\nname = "classifier"\nsource = "{cls.model}"\nslo_ms = 20000\nmax_batch = 64\n'
                       f'preprocess = {PREPROCESS}\n'
                       f'[[model]]\nname = "bytes"\nsource = "{pixels}"\nslo_ms = 20000\nmax_batch = 8\n'
                       'preprocess = { decode = "image", input = "pixels", resize = [20, 30], channels = "BGR", '
                       'layout = "NHWC", filter = "bicubic" }\n')
        cls.up = cls.cluster.start()
        cls.session = onnxruntime.InferenceSession(str(cls.model))
        cls.client = triton.InferenceServerClient(f"127.0.0.1:{cls.cluster.http_port}", concurrency=8,
                                                  network_timeout=PATIENCE, connection_timeout=PATIENCE)
        cls.addClassCleanup(cls.client.close)
        cls.files = [(IMAGES / name).read_bytes() for name in GOOD]

    def assert_scores(self, files, twice, scores):
        tensors = np.stack([tensor_of(f) for f in files])
        np.testing.assert_allclose(np.reshape(twice, tensors.shape), 2 * tensors, rtol=1e-5, atol=1e-5)
        (expected,) = self.session.run(["scores"], {"image": tensors})
        np.testing.assert_allclose(np.reshape(scores, expected.shape), expected, rtol=1e-4, atol=1e-4)

    def assert_answer(self, files, answer):
        outputs = {o["name"]: o["data"] for o in answer["outputs"]}
        self.assert_scores(files, outputs["twice"], outputs["scores"])

    def test_metadata_shows_files(self):
        self.assertEqual(self.client.get_model_metadata("classifier")["inputs"],
                         [{"name": "image", "datatype": "BYTES", "shape": [-1]}])
        self.assertEqual(self.client.get_model_metadata("bytes")["inputs"],
                         [{"name": "pixels", "datatype": "BYTES", "shape": [-1]},
                          {"name": "factor", "datatype": "FP32", "shape": [-1, 1]}])
        self.assertEqual(self.client.get_model_config("classifier")["input"],
                         [{"name": "image", "data_type": "TYPE_STRING", "dims": []}])

    def test_base64_in_json(self):
        for shape in ([len(GOOD)], [len(GOOD), 1]):
            code, answer = self.cluster.infer("classifier", json_body(self.files, shape))
            self.assertEqual(code, 200, answer)
            self.assert_answer(self.files, answer)

    def test_a_raw_body_is_one_file(self):
        data = photo(300, 200, 5)
        code, headers, text = self.raw(data)
        self.assertEqual(code, 200, text)
        numbers = np.frombuffer(text[int(headers["Inference-Header-Content-Length"]):], dtype=np.float32)
        self.assert_scores([data], numbers[:-5], numbers[-5:])

    def raw(self, data):
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.http_port, timeout=PATIENCE)
        connection.request("POST", "/v2/models/classifier/infer", data, {"Inference-Header-Content-Length": "0"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), body

    def test_tritonclient_sends_files(self):
        for binary_out in (True, False):
            for shape in ([len(GOOD)], [len(GOOD), 1]):
                outputs = [triton.InferRequestedOutput(name, binary_data=binary_out) for name in ("twice", "scores")]
                result = self.client.infer("classifier", [triton_input(self.files, shape)], outputs=outputs)
                self.assert_scores(self.files, result.as_numpy("twice"), result.as_numpy("scores"))

    def test_files_beside_another_input(self):
        factor = triton.InferInput("factor", [2, 1], "FP32")
        factor.set_data_from_numpy(np.float32([[1.5], [2.5]]))
        files = self.files[:2]
        result = self.client.infer("bytes", [triton_input(files, [2], "pixels"), factor])
        np.testing.assert_array_equal(result.as_numpy("twice"), [[3], [5]])
        expected = np.stack([np.asarray(Image.open(io.BytesIO(f)).convert("RGB").resize((30, 20), Image.Resampling.BICUBIC))
                             for f in files])[..., ::-1]
        np.testing.assert_array_equal(result.as_numpy("numbers"), expected)

    def test_the_tensor_itself_is_still_taken(self):
        values = np.stack([tensor_of(f) for f in self.files[:3]]).astype(np.float32)
        for binary in (True, False):
            tensor = triton.InferInput("image", values.shape, "FP32")
            tensor.set_data_from_numpy(values, binary_data=binary)
            result = self.client.infer("classifier", [tensor])
            np.testing.assert_allclose(result.as_numpy("twice"), 2 * values, rtol=1e-6)
        code, headers, body = self.raw(values.tobytes())
        self.assertEqual(code, 200, body)
        twice = np.frombuffer(body[int(headers["Inference-Header-Content-Length"]):], dtype=np.float32)[:values.size]
        np.testing.assert_allclose(twice, 2 * values.ravel(), rtol=1e-6)

    def test_wrong_files_are_refused_with_their_input_and_row(self):
        good = self.files[0]
        cut = photo(640, 480, 1)
        wrong = {name: ((IMAGES / name).read_bytes(), why) for name, why in BAD.items()}
        wrong["cut"] = cut[:len(cut) // 2], "is cut short"
        wrong["nothing"] = b"", "is empty"
        wrong["noise"] = bytes(range(256)) * 20, "does not begin like a JPEG, PNG or WebP file"
        for name, (data, why) in wrong.items():
            with self.subTest(name):
                code, answer = self.cluster.infer("classifier", json_body([good, data]))
                self.assertEqual(code, 400, answer)
                self.assertIn('input "image": the file of row 1 ', answer["error"])
                self.assertIn(why, answer["error"])
                with self.assertRaisesRegex(InferenceServerException, "the file of row 2 "):
                    self.client.infer("classifier", [triton_input([good, good, data], [3])])
        code, answer = self.cluster.infer("classifier", json.dumps(
            {"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": ["no base64!"]}]}))
        self.assertEqual(code, 400)
        self.assertIn("the file of row 0 is not base64", answer["error"])
        code, answer = self.cluster.infer("classifier", json.dumps(
            {"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1], "data": [1]}]}))
        self.assertIn('datatype "UINT8" given, FP32 or BYTES expected', answer["error"])

    def test_bombs_take_no_memory(self):
        def peak():
            sizes = [0]
            for pid in [self.up.child.pid, *descendants(self.up.child.pid)]:
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                sizes.append(int(status.split("VmHWM:")[1].split()[0]) / 1024)
            return max(sizes)
        before = peak()
        body = json_body([(IMAGES / "refused/60000x60000.png").read_bytes()])
        began = time.monotonic()
        for name in ("refused/60000x60000.png", "refused/16383x16383.webp", "refused/65500x65500.jpg") * 10:
            code, _ = self.cluster.infer("classifier", json_body([(IMAGES / name).read_bytes()]))
            self.assertEqual(code, 400)
        texts = PngImagePlugin.PngInfo()
        for number in range(40):
            texts.add_itxt(f"text {number}", "A" * 7_000_000, zip=True)
        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "PNG", pnginfo=texts)
        code, answer = self.cluster.infer("classifier", json_body([file.getvalue()]))
        self.assertEqual(code, 200, answer)
        self.assertLess(time.monotonic() - began, PATIENCE / 2)
        self.assertLess(peak() - before, 50, "MiB")
        self.assertEqual(self.cluster.infer("classifier", body)[0], 400)

    def test_64_at_once_good_and_bad(self):
        bad = [(IMAGES / name).read_bytes() for name in BAD] + [self.files[1][:300]]
        work = []
        for i in range(64):
            files = [photo(100 + 7 * i, 80 + 5 * i, i), self.files[i % len(GOOD)]]
            if i % 3 == 2:
                files.insert(i % 2, bad[i % len(bad)])
            work.append(files)
        answers = [None] * len(work)
        def send(i):
            answers[i] = self.cluster.infer("classifier", json_body(work[i]))
        threads = [threading.Thread(target=send, args=(i,)) for i in range(len(work))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i, (files, (code, answer)) in enumerate(zip(work, answers)):
            with self.subTest(i):
                if i % 3 == 2:
                    self.assertEqual(code, 400, answer)
                    self.assertIn(f"the file of row {i % 2} ", answer["error"])
                else:
                    self.assertEqual(code, 200, answer)
                    self.assert_answer(files, answer)

    def test_a_model_is_deployed_with_its_preprocessing(self):
        definition = {"source": str(self.model), "slo_ms": 20000, "max_batch": 4,
                      "preprocess": {"decode": "image", "resize": 40, "crop": [HEIGHT, WIDTH], "mean": list(MEAN),
                                     "std": list(STD)}}
        status, text = self.cluster.post("/v2/repository/models/late/load",
                                         json.dumps({"parameters": {"config": json.dumps(definition)}}))
        self.assertEqual(status, 200, text)
        result = self.client.infer("late", [triton_input(self.files[:4], [4])])
        self.assert_scores(self.files[:4], result.as_numpy("twice"), result.as_numpy("scores"))
        definition["preprocess"]["crop"] = [HEIGHT, WIDTH + 1]
        status, text = self.cluster.post("/v2/repository/models/wrong/load",
                                         json.dumps({"parameters": {"config": json.dumps(definition)}}))
        self.assertNotEqual(status, 200)
        self.assertIn(f"rows of shape [3,{HEIGHT},{WIDTH + 1}], and input 'image' has the shape [3,{HEIGHT},{WIDTH}]", text)

    def test_load_sends_an_image(self):
        def load(*arguments):
            done = subprocess.run([processes.PROGRAM, "load", self.cluster.url, "--model", "classifier", "--rate", "40",
                                   "--duration", "1", *arguments, "--json"], capture_output=True, text=True, timeout=PATIENCE)
            return done.returncode, done.stdout + done.stderr
        code, text = load("--input", IMAGES / "baseline.jpg", "--rows", "2")
        self.assertEqual(code, 0, text)
        self.assertGreater(json.loads(text)["total"]["good"], 0, text)
        code, text = load()
        self.assertEqual(code, 2)
        self.assertIn("model classifier takes BYTES, such as images", text)

    def test_check_compares_shapes(self):
        text = self.cluster.file.read_text()
        file = self.cluster.file.with_name("other.toml")
        file.write_text(text.replace(f"crop = [{HEIGHT}, {WIDTH}]", f"crop = [{WIDTH}, {HEIGHT}]"))
        done = subprocess.run([processes.PROGRAM, "check", file], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(f"preprocess gives rows of shape [3,{WIDTH},{HEIGHT}], and input 'image' has the shape "
                      f"[3,{HEIGHT},{WIDTH}]", done.stdout + done.stderr)


if __name__ == "__main__":
    cluster.main()
