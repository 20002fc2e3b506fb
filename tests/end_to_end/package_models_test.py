#!/usr/bin/env python3
"""Models that ship inside packages of other people (tests/end_to_end/models.txt), against onnxruntime.

Needs the Python of tests/requirements.txt.
"""
import json
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import onnxruntime

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES

PACKAGES = next((Path(__file__).resolve().parents[2] / "build/models").glob("lib/python3*/site-packages"))
OCR, VAD = PACKAGES / "rapidocr_onnxruntime/models", PACKAGES / "silero_vad/data"
DETECTOR, READER = OCR / "ch_PP-OCRv4_det_infer.onnx", OCR / "ch_PP-OCRv4_rec_infer.onnx"
DIRECTION = OCR / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
MAGIKA = PACKAGES / "magika/models/standard_v3_3/model.onnx"

# Five columns of seven pixels, the lowest bit on top.
LETTERS = {"T": (1, 1, 127, 1, 1), "R": (127, 9, 25, 41, 70), "O": (62, 65, 65, 65, 62), "U": (63, 64, 64, 64, 63),
           "P": (127, 9, 9, 9, 6), "E": (127, 73, 73, 73, 65), " ": (0, 0, 0, 0, 0)}


def picture(text, height, width, scale):
    """White paper with black letters, [3, height, width] from -1 to 1."""
    paper = np.ones((height, width), np.float32)
    x, y = 2 * scale, (height - 7 * scale) // 2
    for letter in text:
        for column in LETTERS[letter]:
            for row in range(7):
                if column >> row & 1:
                    paper[y + row * scale:y + (row + 1) * scale, x:x + scale] = -1
            x += scale
        x += scale
    return np.repeat(paper[None], 3, axis=0)


def speech(samples, rate=16000):
    """A voice that says a vowel: a pulse of 120 Hz through three formants."""
    t = np.arange(samples) / rate
    pulse = np.sign(np.sin(2 * np.pi * 120 * t)) * (np.sin(2 * np.pi * 120 * t) > 0.9)
    return sum((pulse * np.sin(2 * np.pi * f * t) for f in (700, 1200, 2600)), np.zeros(samples)).astype(np.float32) / 3


def file_tokens(content, rows=1):
    """Magika's input: the first and last 1,024 bytes of a file, 256 where there are none."""
    out = np.full((rows, 2048), 256, np.int32)
    for row in range(rows):
        part = np.frombuffer(content[row:row + 1024], np.uint8)
        out[row, :len(part)] = part
        out[row, 2048 - len(part):] = part
    return out


def onnxruntime_outputs(file, inputs, optimised=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return [o.astype(np.float64).ravel() for o in session.run(None, inputs)]


def distance(got, expected):
    """Relative, in the L2 norm."""
    return np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-12)


class PackageModels(ClusterTest):
    def infer(self, file, inputs, *options):
        """What `troupe infer` prints, and its outputs; all models have outputs of FP32."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "in").write_bytes(b"".join(v.tobytes() for v in inputs.values()))
            done = subprocess.run([processes.PROGRAM, "infer", "--model-file", file, "--input", f"{folder}/in", "--output",
                                   f"{folder}/out", "--json", *options], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            raw, outputs = Path(folder, "out").read_bytes(), []
            for spec in document["outputs"]:
                self.assertEqual(spec["datatype"], "FP32")
                count = document["rows"] * int(np.prod(spec["shape"]))
                outputs.append(np.frombuffer(raw[:4 * count], np.float32).astype(np.float64))
                raw = raw[4 * count:]
            self.assertEqual(raw, b"")
            return document, outputs

    def check(self, file, inputs, *options, fixed=None):
        """`fixed`: inputs that the command fixes; onnxruntime gets them, too."""
        document, got = self.infer(file, inputs, *options)
        inputs = inputs | (fixed or {})
        expected, plain = onnxruntime_outputs(file, inputs), onnxruntime_outputs(file, inputs, optimised=False)
        self.assertEqual(len(got), len(expected))
        for g, e, p in zip(got, expected, plain):
            self.assertLessEqual(distance(g, e), max(1e-4, 3 * distance(p, e)), document)
        return got

    @staticmethod
    def shapes(inputs):
        return [f"--shape={name}={'x'.join(map(str, v.shape))}" for name, v in inputs.items()]

    def test_text_is_detected_in_pictures(self):
        for height, width in ((320, 320), (96, 416)):
            with self.subTest(height=height, width=width):
                inputs = {"x": picture("TROUPE", height, width, 5)[None]}
                found = self.check(DETECTOR, inputs, *self.shapes(inputs))[0]
                self.assertGreater(found.max(), 0.5)  # there is text
                blank = {"x": np.ones_like(inputs["x"])}
                self.assertLess(self.infer(DETECTOR, blank, *self.shapes(blank))[1][0].max(), 0.5)

    def test_text_is_read_and_its_direction_found(self):
        for rows in (1, 3, 8):
            with self.subTest(rows=rows):
                inputs = {"x": np.stack([picture("TROUPE"[row % 6:] + " TO", 48, 320, 5) for row in range(rows)])}
                self.check(READER, inputs, *self.shapes(inputs))
                inputs = {"x": np.ascontiguousarray(inputs["x"][:, :, :, :192])}
                self.check(DIRECTION, inputs, *self.shapes(inputs))

    def test_voices_are_noticed(self):
        state, rate = np.zeros((2, 1, 128), np.float32), np.array(16000, np.int64)
        sound = {"input": speech(576)[None]}
        fixed = "--constant=sr=16000"
        for name, inputs, options in (
                ("silero_vad", sound | {"state": state}, [fixed]),
                ("silero_vad_16k_op15", sound | {"state": state}, [fixed]),
                ("silero_vad_half", sound | {"state": state}, []),
                ("silero_vad_op18_ifless", sound | {"state": state}, [fixed]),
                ("silero_vad_openvino_16k", sound | {"state": state}, []),
                ("silero_vad_16k_sequence", {"input": speech(4 * 576).reshape(4, 576), "h": state[:1], "c": state[:1]}, [])):
            with self.subTest(name):
                self.check(VAD / f"{name}.onnx", inputs, *options, *self.shapes(inputs),
                           fixed={"sr": rate} if options else None)

    def test_types_of_files_are_told(self):
        labels = json.loads((MAGIKA.parent / "config.min.json").read_text())["target_labels_space"]
        for rows in (1, 3, 8):
            inputs = {"bytes": file_tokens(Path(__file__).read_bytes(), rows)}
            document, _ = self.infer(MAGIKA, inputs)
            self.assertEqual(document["rows"], rows)
            scores = self.check(MAGIKA, inputs)[0].reshape(rows, -1)
            self.assertEqual([labels[i] for i in scores.argmax(axis=1)], ["python"] * rows)

    def test_served_beside_models_of_the_native_engine(self):
        """Many clients at once: batches on either engine, and models without batches. Each answer is as alone."""
        mlp = FIXTURES / "mlp.onnx"
        questions = [("magika", MAGIKA, {"bytes": file_tokens(p.read_bytes())}, {})
                     for p in sorted(Path(__file__).parent.glob("*.py"))[:12]]
        questions += [("mlp", mlp, {"input": np.linspace(-1, end, 64, dtype=np.float32)[None]}, {}) for end in range(12)]
        questions += [("detector", DETECTOR, {"x": picture(text, 96, 160, 5)[None]}, {}) for text in ("TO", "RUT", "PER")]
        state = np.zeros((2, 1, 128), np.float32)
        questions += [("vad", VAD / "silero_vad.onnx", {"input": speech(576 * n)[None, -576:], "state": state},
                       {"sr": np.array(16000, np.int64)}) for n in (1, 2, 3)]
        keys = {"magika": "max_batch = 8\n", "mlp": "max_batch = 8\n",
                "detector": 'batching = "none"\nshapes = { x = [1, 3, 96, 160] }\n',
                "vad": 'batching = "none"\nshapes = { input = [1, 576], state = [2, 1, 128] }\nconstants = { sr = 16000 }\n'}
        files = {model: file for model, file, _, _ in questions}
        text = "".join(f'[[model]]\nname = "{model}"\nsource = "{file}"\nslo_ms = 20000\n{keys[model]}'
                       for model, file in files.items())
        with Cluster(model_text=text) as c:
            c.start()
            wrong = []

            def ask(model, file, inputs, fixed):
                body = {"inputs": [{"name": name, "shape": list(v.shape), "data": v.ravel().tolist(),
                                    "datatype": "INT32" if v.dtype == np.int32 else "FP32"} for name, v in inputs.items()]}
                code, answer = c.infer(model, json.dumps(body))
                if code != 200:
                    return wrong.append((model, code, answer))
                for got, expected in zip(answer["outputs"], onnxruntime_outputs(file, inputs | fixed)):
                    if distance(np.array(got["data"]), expected) > 1e-4:
                        wrong.append((model, got["name"]))

            clients = [threading.Thread(target=ask, args=q) for q in questions]
            for one in clients:
                one.start()
            for one in clients:
                one.join()
            self.assertEqual(wrong, [])
            metadata = json.loads(c.get("/v2/models/vad")[1])
            self.assertEqual([i["shape"] for i in metadata["inputs"]], [[1, 576], [2, 1, 128]])
            for node in c.status()["nodes"]:
                self.assertEqual({m["name"]: m["engine"] for m in node["models"]},
                                 {"magika": "openvino", "mlp": "native", "detector": "openvino", "vad": "openvino"})
            self.assert_ledger_balances(c)

    def test_what_no_engine_runs_is_refused_with_the_reasons_of_both(self):
        done = subprocess.run([processes.PROGRAM, "infer", "--model-file", DETECTOR, "--input", __file__, "--output",
                               "/dev/null"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^[^\n]*ch_PP-OCRv4_det_infer.onnx: .*; by OpenVINO: [^\n]*--shape[^\n]*\n$")


if __name__ == "__main__":
    cluster.main()
