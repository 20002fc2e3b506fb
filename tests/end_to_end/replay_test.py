#!/usr/bin/env python3
"""Traces against a cluster on an emulated device: the published formats, our generator, the reports."""
import csv
import json
import statistics
import subprocess
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODEL = f"""[[llm]]
name = "big"
device = "emulated"
profile = "{EXAMPLES / 'profiles' / 'punica-7b-a100.toml'}"
model = "{FIXTURES.parent / 'llama-tasks' / 'base'}"
max_positions = 4096
kv_mb = 20480
emulated_adapters = 20
adapter_slots = 8
engines_per_node = 2
"""


class Replay(ClusterTest):
    def replay(self, c, trace, *arguments, code=0):
        done = subprocess.run([processes.PROGRAM, "replay", trace, c.url, "--model", "big", "--token-bound", "60", "--json",
                               *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def test_traces_of_all_formats_and_our_own(self):
        with Cluster(model_text=MODEL) as c:
            c.start()
            for name, rows, tokens, left_out in (("azure.csv", 5, 156, 0), ("mooncake.jsonl", 4, 97, 0),
                                                 ("burstgpt.csv", 3, 293, 1)):
                with self.subTest(name):
                    told = self.replay(c, EXAMPLES / "traces" / name, "--time-scale", 0.01)
                    self.assertEqual((told["trace"]["requests"], told["trace"]["without_answer"]), (rows, left_out))
                    self.assertEqual((told["sent"], told["completed"], told["errors"]), (rows, rows, {}))
                    self.assertEqual(told["output_tokens"], tokens)
            made = Path(c.folder.name, "made.jsonl")
            code, text, _ = run("traffic", "--requests", 60, "--rate", 100, "--cv", 2, "--adapters", 20, "--output-most", 30,
                                "--prompt-most", 200, "--slo-ms", 60000)
            self.assertEqual(code, 0)
            made.write_text(text)
            series = Path(c.folder.name, "series.csv")
            told = self.replay(c, made, "--csv", series, "--interval", 0.1, "--ttft-slo", 60000, "--rate-scale", 1.5)
            self.assertGreater(told["sent"], 60)
            self.assertEqual(told["completed"], told["sent"])
            self.assertEqual(told["good"], told["sent"])
            self.assertGreater(len(told["models"]), 5)
            with series.open() as lines:
                rows = list(csv.DictReader(lines))
            self.assertEqual(sum(int(r["sent"]) for r in rows), told["sent"])
            self.assertEqual(sum(int(r["completed"]) for r in rows), told["sent"])
            self.assertEqual(rows[-1]["in_flight"], "0")
            self.assertEqual(c.metric("troupe_llm_requests_finished_total"), 12 + told["sent"])

    def test_traffic_like_a_public_trace(self):
        code, text, err = run("traffic", "--like", "azure-conv", "--rate", 50, "--requests", 400)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"^400 requests in \d+ s: \d+\.?\d* a second; ")
        prompts = [json.loads(line)["input_length"] for line in text.splitlines()]
        self.assertEqual(len(prompts), 400)
        self.assertTrue(500 < statistics.median(prompts) < 1100, statistics.median(prompts))
        code, _, err = run("traffic", "--like", "azure", "--requests", 1)
        self.assertEqual(code, 2)
        self.assertIn("azure-code,azure-conv,burstgpt", err)
        code, _, err = run("traffic", "--like", "azure-code", "--cv", 2)
        self.assertEqual(code, 2)
        self.assertIn("--cv", err)

    def test_the_same_trace_in_virtual_time(self):
        with Cluster(model_text=MODEL) as c:
            trace = Path(c.folder.name, "made.jsonl")
            trace.write_text(run("traffic", "--requests", 200, "--rate", 30, "--adapters", 20, "--output-most", 60)[1])

            def simulated(*options):
                code, out, err = run("replay", trace, "--simulate", c.file, "--json", *options)
                self.assertEqual(code, 0, err)
                return json.loads(out)
            told = simulated()
            self.assertEqual((told["sent"], told["completed"], told["errors"]), (200, 200, {}))
            self.assertGreater(told["tpot_ms"]["p50"], 10.5)  # no step is shorter
            self.assertEqual(told, simulated())
            rows = [{"timestamp": i * 1000, "input_length": 5, "output_length": 5} for i in range(3)]
            rows[1]["slo_ms"] = 10000
            trace.write_text("\n".join(map(json.dumps, rows)))
            told = simulated("--ttft-slo", 0.001)
            self.assertEqual((told["completed"], told["good"]), (3, 1))  # a row's own objective overrides the common one
            code, _, err = run("replay", trace, "--simulate", EXAMPLES / "quickstart" / "cluster.toml")
            self.assertEqual(code, 2)
            self.assertIn("needs one [[llm]]", err)
            self.assertEqual(run("replay", trace)[0], 2)

    def test_a_request_whose_first_token_cannot_come_in_time_is_refused(self):
        model = MODEL.replace("engines_per_node = 2", "max_sequences = 1")
        with Cluster(model_text=model) as c:
            c.start()
            trace = Path(c.folder.name, "late.jsonl")
            rows = [{"timestamp": 0, "input_length": 5, "output_length": 300}]
            rows += [{"timestamp": 100, "input_length": 5, "output_length": 2, "slo_ms": 50}] * 3
            rows += [{"timestamp": 200, "input_length": 5, "output_length": 2, "priority": 1},
                     {"timestamp": 300, "input_length": 5, "output_length": 2, "priority": -1}]
            trace.write_text("\n".join(map(json.dumps, rows)))
            told = self.replay(c, trace)
            self.assertEqual(told["errors"], {"HTTP 503": 3})
            self.assertEqual(told["completed"], 3)
            self.assertEqual(c.metric("troupe_llm_requests_dropped_total", reason="late"), 3)

    def test_what_is_wrong_is_said(self):
        with Cluster(model_text=MODEL) as c:
            odd = Path(c.folder.name, "odd.csv")
            odd.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,1,many\n")
            self.assertIn("odd.csv:2: the answer must be a number of tokens", self.replay(c, odd, code=2))
            self.assertIn("cannot be read", self.replay(c, odd.with_name("none"), code=2))
            code, _, err = run("replay", EXAMPLES / "traces" / "azure.csv", c.url)
            self.assertEqual(code, 2)
            self.assertIn("give a --model", err)


if __name__ == "__main__":
    cluster.main()
