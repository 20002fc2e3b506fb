#!/usr/bin/env python3
"""A model whose prompts are computed by one engine and whose further tokens by others: real weights, every stream compared
token by token with that of a model whose engine does both, also while engines of either kind are killed."""
import json
import os
import signal

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually, run
from scaling_cluster import parameters, scaling
from streams import Streams

TASKS = FIXTURES.parent / "llama-tasks"
NODES = ("first", "second", "third")
PREFILLS, DECODES = (0,), (1, 2)


def disaggregated(more="", **options):
    """The first worker prefills, the others decode; the second one also has the model as a whole."""
    model = f"""model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
max_sequences = 16
kv_mb = 8
{more}"""
    return Cluster(workers=NODES, device='kind = "cpu"', slo_ms=10000, model_text=f"""[[llm]]
name = "tasks"
nodes = ["first", "second", "third"]
routing = "least_loaded"
disaggregated = {{ prefill = 1, decode = 2 }}
{model}
[[llm]]
name = "whole"
node = "second"
{model.replace("adapters = ", "# adapters = ")}""", **options)


class Disaggregated(ClusterTest):
    def engine(self, c, i):
        return c.asked(f"llm_engine/{i}", "get_state")

    def router(self, c):
        return c.asked("llm_router/0", "get_state")

    def answer(self, c, model, **body):
        status, text = c.post("/v1/completions", json.dumps({"model": model, "temperature": 0, **body}))
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def assert_clean(self, c):
        for i in PREFILLS + DECODES:
            def empty():
                s = self.engine(c, i)
                return s["running"] == s["waiting"] == s["kv_leases"] == 0 and s["kv_blocks_free"] == s["kv_blocks"]
            self.assertTrue(eventually(empty), self.engine(c, i))
        self.assertTrue(eventually(lambda: self.router(c)["requests"] == 0))
        self.assertEqual(c.metric("troupe_llm_ledger_balanced"), 1)

    def test_answers_are_those_of_the_whole_model(self):
        with disaggregated() as c:
            c.start()
            for body in ({"prompt": "hello=", "max_tokens": 12}, {"prompt": [7 + i % 20 for i in range(300)], "max_tokens": 90},
                         {"prompt": "abc=", "max_tokens": 1}, {"prompt": "seven=", "max_tokens": 30, "ignore_eos": True,
                                                              "temperature": 1, "seed": 9, "presence_penalty": 0.5},
                         {"prompt": "choices=", "max_tokens": 40, "n": 3, "temperature": 1, "seed": 4, "ignore_eos": True},
                         {"prompt": "stop=", "max_tokens": 40, "stop": ["o"], "ignore_eos": True}):
                one, other = (self.answer(c, model, **body) for model in ("tasks", "whole"))
                self.assertEqual([(k["text"], k["finish_reason"]) for k in one["choices"]],
                                 [(k["text"], k["finish_reason"]) for k in other["choices"]], body)
                self.assertEqual(one["usage"]["completion_tokens"], other["usage"]["completion_tokens"])
            self.assertEqual([e["phase"] for e in self.router(c)["engines"]], ["prefill", "decode", "decode"])
            self.assert_clean(c)

    def test_no_engine_does_the_work_of_the_other(self):
        with disaggregated("prefix_cache = false\n") as c:
            c.start()
            prompt, generated = [7 + i % 20 for i in range(200)], 120
            for _ in range(4):
                self.answer(c, "tasks", prompt=prompt, max_tokens=generated, ignore_eos=True)
            first = self.engine(c, 0)
            self.assertEqual((first["computed_tokens"], first["generated_tokens"]), (4 * len(prompt), 4))
            others = [self.engine(c, i) for i in DECODES]
            self.assertEqual(sum(e["kv_pulls"] for e in others), 4)
            self.assertEqual(sum(e["kv_pulls_failed"] for e in others), 0)
            self.assertEqual(sum(e["kv_positions_pulled"] for e in others), 4 * len(prompt))
            self.assertEqual(sum(e["computed_tokens"] for e in others), 4 * (generated - 1))
            self.assertEqual(sum(e["generated_tokens"] for e in others), 4 * (generated - 1))
            self.assert_clean(c)

    def test_streams_survive_the_death_of_engines_of_either_kind(self):
        with disaggregated() as c:
            up = c.start()
            with Streams(c) as streams:
                for node in ("first", "third", "first"):
                    streams.more()
                    os.kill(up.pid_of(node), signal.SIGKILL)  # its parent restarts it
                    streams.more()
                    self.assertTrue(eventually(lambda: all(e["state"] == "open" for e in self.router(c)["engines"])))
                streams.more()
            self.assertEqual(streams.wrong, [])
            self.assertGreater(sum(self.engine(c, i)["kv_pulls"] for i in DECODES), 0)
            self.assert_clean(c)

    def test_engines_of_either_kind_are_drained(self):
        with disaggregated() as c:
            c.start()
            with Streams(c) as streams:
                for engine in (1, 0, 2):
                    streams.more()
                    code, out, err = run("drain", c.file, "--engine", engine, "--wait", PATIENCE)
                    self.assertEqual((code, err), (0, ""), out)
                    streams.more()  # without the first one, the others take whole requests
                    self.assertEqual(run("drain", c.file, "--engine", engine, "--open")[0], 0)
            self.assertEqual(streams.wrong, [])
            self.assert_clean(c)

    def test_instances_change_their_phase_while_streams_go_on(self):
        """The weights of new instances come over the network; a changed phase moves none."""
        with scaling("disaggregated = { prefill = 1, decode = 1 }\nmax_instances = 3") as c:
            c.start()
            with Streams(c) as streams:
                before = (1, 1)
                for prefill, decode in ((2, 1), (1, 2), (1, 1), (1, 2)):
                    streams.more()
                    code, out, err = run("scale", c.file, "tasks", "--prefill", prefill, "--decode", decode, "--json")
                    self.assertEqual(code, 0, out + err)
                    said = json.loads(out)
                    self.assertEqual((said["prefill"], said["decode"]), (prefill, decode))
                    if sum(before) == prefill + decode:
                        self.assertEqual((said["pulled_bytes"], said["chains"]), (0, []))
                    before = (prefill, decode)
                    phases = sorted(i["phase"] for i in parameters(c)["instances"] if i["stage"] == "serving")
                    self.assertEqual(phases, ["decode"] * decode + ["prefill"] * prefill)
                    streams.more()
            self.assertEqual(streams.wrong, [])
            for numbers in (("--instances", 2), ("--prefill", 2, "--decode", 0), ("--prefill", 2)):
                self.assertEqual(run("scale", c.file, "tasks", *numbers)[0], 2)


if __name__ == "__main__":
    cluster.main()
