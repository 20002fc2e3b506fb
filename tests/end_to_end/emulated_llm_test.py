#!/usr/bin/env python3
"""A language model on an emulated device: a cluster without a GPU that takes the time of one, with thousands of
adapters and sequences that do not depend on their batch."""
import concurrent.futures
import json
import shutil
import time
import urllib.request
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "emulated_llm" / "cluster.toml"
BASE = FIXTURES.parent / "llama-tasks" / "base"
PROFILE = EXAMPLE.parents[1] / "profiles" / "punica-7b-a100.toml"


class EmulatedLlm(ClusterTest):
    def sequences(self, c, **keys):
        body = {"prompt": "abc=", "max_tokens": 20, "temperature": 0} | keys
        request = urllib.request.Request(c.url + "/v1/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def test_it_takes_the_time_of_its_profile_and_a_sequence_is_the_same_beside_others(self):
        model = f"""[[llm]]
name = "big"
device = "emulated"
profile = "{PROFILE}"
model = "{FIXTURES.parent / 'llama-tasks' / 'base'}"
max_positions = 4096
kv_mb = 20480
emulated_adapters = 1000
adapter_slots = 8
"""
        with Cluster(model_text=model) as c:
            c.start()
            with urllib.request.urlopen(c.url + "/v1/models", timeout=PATIENCE) as answer:
                names = [m["id"] for m in json.load(answer)["data"]]
            self.assertEqual(len(names), 1001)
            began = time.monotonic()
            alone = self.sequences(c, model="adapter-0007", max_tokens=50)
            took = time.monotonic() - began
            self.assertEqual(alone["usage"]["completion_tokens"], 50)
            self.assertGreater(took, 50 * 0.0105)  # no step is shorter
            asked = [f"adapter-{i:04}" for i in range(24)]
            with concurrent.futures.ThreadPoolExecutor(len(asked)) as clients:
                together = dict(zip(asked, clients.map(lambda a: self.sequences(c, model=a, max_tokens=50), asked)))
            text = {a: t["choices"][0]["text"] for a, t in together.items()}
            self.assertEqual(text["adapter-0007"], alone["choices"][0]["text"])
            self.assertEqual(len(set(text.values())), len(asked), "adapters differ")
            engine = c.asked("llm_engine/0", "get_state")
            self.assertEqual(engine["layers_ready"], engine["layers"])
            self.assertGreaterEqual(engine["adapter_loads"], 24)
            self.assertEqual(engine["kv_blocks_free"], engine["kv_blocks"])

    def test_targets_of_a_tenant_hold_unless_a_request_says_otherwise(self):
        model = f"""[[tenant]]
name = "hasty"
key = "hasty-0123456789"
ttft_ms = 300
[[tenant]]
name = "patient"
key = "patient-0123456789"
[[llm]]
name = "big"
device = "emulated"
profile = "{PROFILE}"
model = "{FIXTURES.parent / 'llama-tasks' / 'base'}"
max_positions = 4096
max_sequences = 1
kv_mb = 20480
"""
        with Cluster(model_text=model) as c:
            c.start()

            def ask(tenant, **keys):
                body = {"model": "big", "prompt": "abc=", "max_tokens": 20, "temperature": 0} | keys
                code, _, text = c.ask("POST", "/v1/completions", json.dumps(body), f"{tenant}-0123456789",
                                      {"Content-Type": "application/json"})
                return code, json.loads(text)

            with concurrent.futures.ThreadPoolExecutor(2) as clients:
                long = clients.submit(ask, "patient", max_tokens=400)  # four seconds and more
                while c.asked("llm_engine/0", "get_state")["running"] == 0:
                    self.assertFalse(long.done(), long)
                code, refusal = ask("hasty")
                self.assertEqual(code, 503, refusal)
                self.assertIn("late", json.dumps(refusal))
                self.assertFalse(long.done(), "it was refused when its time was over, not before")
                waits = clients.submit(ask, "hasty", ttft_ms=1000 * PATIENCE)
                for answer, tokens in ((long.result(), 400), (waits.result(), 20)):
                    self.assertEqual(answer[0], 200, answer)
                    self.assertEqual(answer[1]["usage"]["completion_tokens"], tokens)

    def test_a_folder_without_an_adapter_is_refused_as_by_devices_that_read_it(self):
        model = f"""[[llm]]
name = "big"
device = "emulated"
profile = "{PROFILE}"
model = "{BASE}"
max_positions = 4096
adapter_slots = 1
adapter_api = true
"""
        with Cluster(model_text=model) as c:
            c.start()
            self.sequences(c, model="big")  # the engine is ready
            for path, code, said in (("/nowhere", 400, "/nowhere/adapter_config.json: No such file or directory"),
                                     (str(BASE.parent / "adapters" / "sort"), 200, "Success")):
                status, text = c.post("/v1/load_lora_adapter", json.dumps({"lora_name": "one", "lora_path": path}))
                self.assertEqual(status, code, text)
                self.assertIn(said, text)
            self.sequences(c, model="one")

    def test_a_chat_template_that_is_not_supported_refuses_only_chats(self):
        with Cluster(model_text=f"""[[llm]]
name = "big"
device = "emulated"
profile = "{PROFILE}"
model = "base"
max_positions = 4096
""") as c:
            folder = Path(c.folder.name, "base")
            shutil.copytree(BASE, folder)
            template = folder / "chat_template.jinja"
            template.write_text("{{ bos_token }}\n{% include 'other' %}")
            place = f"{template}: tag 'include' is not supported (line 2, "
            code, out, err = run("check", c.file)
            self.assertEqual(code, 0, err)
            self.assertIn(f"{c.file}:", err)
            self.assertIn(f": warning: llm.model: {place}", err)
            up = c.start()
            self.assertEqual(self.sequences(c, model="big")["usage"]["completion_tokens"], 20)
            chat = {"model": "big", "messages": [{"role": "user", "content": "hi"}]}
            for path in ("/v1/chat/completions", "/tokenize"):
                status, text = c.post(path, json.dumps(chat))
                error = json.loads(text)["error"]
                self.assertEqual((status, error["param"], error["type"]), (400, "messages", "invalid_request_error"), text)
                self.assertIn(place, error["message"])
                self.assertIn("/v1/completions", error["message"])
            warnings = [line for line in up.output().splitlines() if "event=chat_template_refused" in line]
            self.assertEqual(len(warnings), 1, up.output())
            self.assertIn(place, warnings[0])

    def test_a_thousand_streams_at_once_without_an_error(self):
        model = f"""[[llm]]
name = "big"
device = "emulated"
profile = "{PROFILE}"
model = "{FIXTURES.parent / 'llama-tasks' / 'base'}"
max_positions = 4096
kv_mb = 204800
max_sequences = 64
engines_per_node = 16
"""
        streams = 100 if "TSAN_OPTIONS" in processes.SANITIZER else 1000  # with it a thousand would time out
        with Cluster(model_text=model) as c:
            c.start()
            code, out, err = run("load", c.url, "--completions", "--model", "big", "--concurrency", streams,
                                 "--requests", 2 * streams,
                                 "--duration", PATIENCE, "--prompt-tokens", 8, "--token-bound", 60, "--max-tokens", 50, "--json")
            self.assertEqual(code, 0, err)
            told = json.loads(out)
            self.assertEqual((told["completed"], told["errors"]), (2 * streams, {}))
            self.assertEqual(told["output_tokens"], 2 * streams * 50)
            print(f"{streams} streams: between tokens {told['itl_ms']['p50']:.1f} ms in the median, "
                  f"{told['itl_ms']['p99']:.1f} at 99 %")
            self.assertEqual(c.metric("troupe_llm_ledger_balanced"), 1)


if __name__ == "__main__":
    cluster.main()
