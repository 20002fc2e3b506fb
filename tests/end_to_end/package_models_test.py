#!/usr/bin/env python3
"""Models that ship inside packages of other people (package_models.py), by `troupe infer`, against onnxruntime. For the same
models in a cluster see package_models_load_test.py.

Needs the Python of tests/requirements.txt.
"""
import json
import subprocess
import unittest
from pathlib import Path

import numpy as np

import cluster
import processes
from package_models import (DETECTOR, MAGIKA, MODELS, OCR, READER, VAD, PackageModel, distance, file_tokens, picture, pictures)
from infer_command import infer


class PackageModels(unittest.TestCase):
    def infer(self, file, inputs, *options):
        """What `troupe infer` prints, and its outputs; all models have outputs of FP32."""
        done = infer(file, list(inputs.values()), *options)
        self.assertEqual(done.code, 0, done.error)
        self.assertEqual({o.dtype for o in done.outputs}, {np.dtype(np.float32)})
        return done.document, [o.astype(np.float64).ravel() for o in done.outputs]

    def check(self, model, inputs, shapes=True):
        """The outputs, which are onnxruntime's. `shapes`: give those of the inputs, which then are one request."""
        options = [f"--shape={name}={'x'.join(map(str, v.shape))}" for name, v in inputs.items()] if shapes else []
        options += [f"--constant={name}={value}" for name, value in model.fixed.items()]
        document, got = self.infer(model.file, inputs, *options)
        for g, (expected, bound) in zip(got, model.expected(inputs), strict=True):
            self.assertLessEqual(distance(g, expected), bound, document)
        return document, got

    def test_all_models_of_the_packages_are_checked(self):
        found = {f for folder in (OCR, VAD, MAGIKA.parent) for f in folder.glob("*.onnx")}
        self.assertEqual({m.file for m in MODELS}, found)

    def test_each_model_at_each_batch_size(self):
        for model in MODELS:
            for rows in model.sizes():
                with self.subTest(model.name, rows=rows):
                    self.check(model, model.make(rows, rows))

    def test_text_is_detected_in_pictures_of_any_size(self):
        for height, width in ((320, 320), (96, 416)):
            model = PackageModel("detector", DETECTOR, pictures(height, width))
            for rows in (1, 3, 8):
                with self.subTest(height=height, width=width, rows=rows):
                    inputs = {"x": np.stack([picture("TROUPE", height, width, 5)] * rows)}
                    inputs["x"][1::2] = 1  # blank pictures
                    found = self.check(model, inputs)[1][0].reshape(rows, -1).max(axis=1)
                    self.assertTrue((found[::2] > 0.5).all(), "text is not found")
                    self.assertTrue((found[1::2] < 0.5).all(), "text is found in a blank picture")

    def test_text_is_read(self):
        """Rows that are equal are read equally, and others are not."""
        model = PackageModel("reader", READER, pictures(48, 320))
        rows = np.stack([picture(text, 48, 320, 5) for text in ("TROUPE TO", "PORTER", "TROUPE TO")])
        read = self.check(model, {"x": rows})[1][0].reshape(3, -1, 6625).argmax(axis=2)
        self.assertEqual(read[0].tolist(), read[2].tolist())
        self.assertNotEqual(read[0].tolist(), read[1].tolist())

    def test_types_of_files_are_told(self):
        labels = json.loads((MAGIKA.parent / "config.min.json").read_text())["target_labels_space"]
        (model,) = [m for m in MODELS if m.file == MAGIKA]
        for rows in (1, 3, 8):
            inputs = {"bytes": np.stack([file_tokens(Path(__file__).read_bytes())] * rows)}
            document, scores = self.check(model, inputs, shapes=False)
            self.assertEqual(document["rows"], rows)
            self.assertEqual([labels[i] for i in scores[0].reshape(rows, -1).argmax(axis=1)], ["python"] * rows)

    def test_what_no_engine_runs_is_refused_with_the_reasons_of_both(self):
        done = subprocess.run([processes.PROGRAM, "infer", "--model-file", DETECTOR, "--input", __file__, "--output",
                               "/dev/null"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^[^\n]*ch_PP-OCRv4_det_infer.onnx: .*; by OpenVINO: [^\n]*--shape[^\n]*\n$")


if __name__ == "__main__":
    cluster.main()
