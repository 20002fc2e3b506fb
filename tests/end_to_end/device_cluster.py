#!/usr/bin/env python3
"""A cluster of two processes whose worker has tensor models and a language model with four tenants' adapters on one
device: device_cluster.py PROGRAM cpu|cuda. Every answer is compared with a golden one. tools/gpu_check runs it."""
import concurrent.futures
import json
import sys

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, ROOT, Fixture

MODELS = ("mlp", "encoder", "resnet_a")
TASKS = ROOT / "tests/fixtures/llama-tasks"
DEVICES = {"cpu": 'kind = "cpu"', "cuda": 'kind = "cuda"\nexact = true'}
DEVICE = "cpu"


class OnDevice(ClusterTest):
    def completion(self, c, golden):
        """(the golden answer, the answer) of one request."""
        body = {"model": golden["adapter"] or "tasks", "prompt": golden["prompt"], "temperature": 0,
                "max_tokens": len(golden["output_ids"])}
        status, text = c.post("/v1/completions", json.dumps(body))
        return golden["text"], json.loads(text)["choices"][0]["text"] if status == 200 else f"{status}: {text}"

    def test_tenants_and_tensor_models_get_their_golden_answers_at_the_same_time(self):
        fixtures = [Fixture(name) for name in MODELS]
        golden = json.loads((TASKS / "golden.json").read_text())
        models = "".join(f"""[[model]]
name = "{m}"
source = "{FIXTURES / m}.onnx"
slo_ms = 20000
profile = "measure"
max_batch = 16
""" for m in MODELS) + f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
adapter_slots = 4
kv_mb = 16
device = "{DEVICE}"
"""
        with Cluster(device=DEVICES[DEVICE], model_text=models) as c, \
                concurrent.futures.ThreadPoolExecutor(16) as clients:
            c.start()
            for turn in range(3):  # a GPU runs a batch size launch by launch at first, later as a graph
                texts = [clients.submit(self.completion, c, g) for g in golden]
                tensors = [(f, clients.submit(c.infer, f.name, f.body(rows))) for f in fixtures for rows in (1, 3, f.rows)]
                for g, answer in zip(golden, texts):
                    expected, found = answer.result()
                    self.assertEqual(found, expected, f"turn {turn}, adapter {g['adapter']}, prompt {g['prompt']}")
                for f, answer in tensors:
                    status, document = answer.result()
                    self.assertEqual(status, 200, document)
                    self.assertLessEqual(f.distance(document), 1e-4, f"turn {turn}, model {f.name}")
            self.assert_ledger_balances(c)
            self.assertGreater(c.metric("troupe_fabric_bytes_pulled_total"), 0)  # not all in one process


if __name__ == "__main__":
    DEVICE = sys.argv.pop(2)
    cluster.main()
