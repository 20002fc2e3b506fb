#!/usr/bin/env python3
"""The ten models of package_models.py and a fixture in one cluster: clients without pauses send requests of one row and
several, which run in batches on two devices of a process, by both engines. Every answer is compared with onnxruntime's.

Needs the Python of tests/requirements.txt.
"""
import collections
import json
import random
import threading
import unittest

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import np_to_triton_dtype

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from package_models import MODELS, PackageModel, distance
from processes import PATIENCE

MAX_BATCH, VARIANTS, CLIENTS, REQUESTS = 8, 4, 24, 600
MLP = PackageModel("mlp", FIXTURES / "mlp.onnx", lambda rows, seed: {
    "input": np.random.default_rng(seed).standard_normal((rows, 64)).astype(np.float32)})
SERVED, NATIVE = (*MODELS, MLP), ("mlp", "reader")  # the engine of the others is OpenVINO


def table_of(model):
    """The [[model]] of the cluster file. States have their batches in another dimension than the first: a shape for each."""
    dims = lambda inputs, first: ", ".join(f"{name} = {list(v.shape[first:])}" for name, v in inputs.items())
    if model.batch == "rows":
        keys = f"max_batch = {MAX_BATCH}\nshapes = {{ {dims(model.make(1, 0), 1)} }}\n"
    else:
        shapes = ", ".join(f"{{ {dims(model.make(rows, 0), 0)} }}" for rows in model.sizes())
        keys = f'batching = "none"\nshapes = [ {shapes} ]\n'
    if model.fixed:
        keys += f"constants = {{ {', '.join(f'{name} = {value}' for name, value in model.fixed.items())} }}\n"
    return f'[[model]]\nname = "{model.name}"\nsource = "{model.file}"\nslo_ms = {500 * PATIENCE}\n{keys}'


class Question:
    """A request to a model, and what is expected of its answer."""

    def __init__(self, model, rows, seed):
        self.model, self.rows, inputs = model.name, rows, model.make(rows, seed)
        self.expected = model.expected(inputs)
        self.inputs = []
        for name, v in inputs.items():
            self.inputs.append(triton.InferInput(name, v.shape, np_to_triton_dtype(v.dtype)))
            self.inputs[-1].set_data_from_numpy(v)

    def check(self, answer):
        """The problems of an answer."""
        outputs = answer.get_response()["outputs"]
        if len(outputs) != len(self.expected):
            return [f"{self.model}: {len(outputs)} outputs"]
        problems = []
        for spec, (expected, bound) in zip(outputs, self.expected):
            got = answer.as_numpy(spec["name"])
            if got.shape != expected.shape:
                problems.append(f"{self.model}, {self.rows} rows: {spec['name']} has the shape {got.shape}")
            elif distance(got, expected) > bound:
                problems.append(f"{self.model}, {self.rows} rows: {spec['name']} is {distance(got, expected):.1e} off")
        return problems


class Load:
    """Clients that send one question after the other, in an order given by a seed."""

    def __init__(self, c, questions):
        self.cluster, self.lock = c, threading.Lock()
        self.waiting = iter(random.Random(7).choices(questions, k=REQUESTS))
        self.problems, self.batch_rows = [], collections.defaultdict(list)

    def _client(self):
        client = triton.InferenceServerClient(f"127.0.0.1:{self.cluster.http_port}", network_timeout=PATIENCE,
                                              connection_timeout=PATIENCE)
        while True:
            with self.lock:
                q = next(self.waiting, None)
            if q is None:
                break
            try:
                answer = client.infer(q.model, q.inputs)
            except Exception as e:
                self._record(q, [f"{q.model}, {q.rows} rows: {e!r}"], None)
            else:
                self._record(q, q.check(answer), answer.get_response()["parameters"]["batch_rows"])
        client.close()

    def _record(self, q, problems, together):
        """`together`: rows of the batch of an answer; none if there is no answer."""
        with self.lock:
            self.problems += problems
            if together:
                self.cluster.told[200, ""] += 1
                self.batch_rows[q.model].append((q.rows, together))

    def run(self):
        clients = [threading.Thread(target=self._client, daemon=True) for _ in range(CLIENTS)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()


class PackageModelsLoad(ClusterTest):
    def test_all_models_at_once(self):
        questions = [Question(model, rows, 10 * variant + rows) for model in SERVED for variant in range(VARIANTS)
                     for rows in model.sizes()]
        with Cluster(model_text="".join(map(table_of, SERVED)), device='kind = "cpu"\ncount = 2') as c:
            c.start()
            load = Load(c, questions)
            load.run()
            self.assertEqual(load.problems, [])
            for model in SERVED:
                ran = load.batch_rows[model.name]
                self.assertEqual({rows for rows, _ in ran}, set(model.sizes()), model.name)
                joined = sum(together > rows for rows, together in ran)
                print(f"{model.name}: {len(ran)} requests, {joined} in batches with others")
                if model.batch == "rows":
                    self.assertGreater(joined, 0, f"{model.name}: no batch had two requests")
                    self.assertLessEqual(max(together for _, together in ran), MAX_BATCH)
            metadata = json.loads(c.get("/v2/models/silero_vad")[1])
            self.assertEqual([i["shape"] for i in metadata["inputs"]], [[-1, 576], [2, -1, 128]])
            for node in c.status()["nodes"]:
                engines = {m["name"].split("@")[0]: m["engine"] for m in node["models"]}
                self.assertEqual(engines, {m.name: "native" if m.name in NATIVE else "openvino" for m in SERVED})
            self.assert_ledger_balances(c)


if __name__ == "__main__":
    cluster.main()
