#!/usr/bin/env python3
"""OpenAI's client from PyPI against a cluster that serves a language model with adapters: texts against golden
outputs of Transformers, streams, cancellation, errors, adapters that are loaded and unloaded.

Needs the Python of tests/requirements.txt.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

import openai

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASKS = FIXTURES.parent / "llama-tasks"
GOLDEN = json.loads((TASKS / "golden.json").read_text())
TEMPLATE = """{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}\
{% if doubled is defined and doubled %}{{ messages[-1]['content'] }}{% endif %}\
{% if add_generation_prompt %}={% endif %}"""


class OpenAI(ClusterTest):
    @classmethod
    def setUpClass(cls):
        # few slots and KV blocks, so that adapters are swapped and sequences are preempted
        cls.cluster = Cluster(model_text="""[[llm]]
name = "tasks"
model = "base"
adapters = "adapters"
adapter_slots = 2
kv_mb = 1
max_sequences = 16
adapter_api = true
""")
        cls.addClassCleanup(cls.cluster.__exit__)
        folder = Path(cls.cluster.folder.name)
        shutil.copytree(TASKS, folder, dirs_exist_ok=True)
        shutil.copytree(TASKS / "adapters" / "sort", folder / "adapters" / "torn")
        os.truncate(folder / "adapters" / "torn" / "adapter_model.safetensors", 3000)
        (folder / "base" / "chat_template.jinja").write_text(TEMPLATE)
        cls.up = cls.cluster.start()
        cls.client = openai.OpenAI(base_url=cls.cluster.url + "/v1", api_key="none", timeout=PATIENCE, max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def complete(self, case, **options):
        return self.client.completions.create(model=case["adapter"] or "tasks", prompt=case["prompt"], temperature=0,
                                              max_tokens=32, **options)

    def assert_balanced(self):
        """Every request has its outcome, and the engine holds nothing."""
        end = time.monotonic() + PATIENCE
        while True:
            gateway = self.cluster.asked("llm_gateway", "get_state")
            engine = self.cluster.asked("llm_engine/0", "get_state")
            if gateway["in_flight"] == 0 and engine["running"] == engine["waiting"] == 0:
                break
            self.assertLess(time.monotonic(), end, (gateway, engine))
            time.sleep(0.02)
        self.assertTrue(gateway["balanced"], gateway)
        self.assertEqual(engine["kv_blocks_free"], engine["kv_blocks"])

    def test_every_task_alone_and_all_at_once(self):
        for case in GOLDEN[:6]:
            self.assertEqual(self.complete(case).choices[0].text, case["text"], case["prompt"])
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            for case, answer in zip(GOLDEN, pool.map(self.complete, GOLDEN)):
                choice = answer.choices[0]
                self.assertEqual((choice.text, choice.finish_reason), (case["text"], "stop"), case)
                self.assertEqual(answer.usage.prompt_tokens, len(case["prompt_ids"]))
                self.assertEqual(answer.usage.completion_tokens, len(case["output_ids"]))
        self.assert_balanced()
        engine = self.cluster.asked("llm_engine/0", "get_state")
        self.assertGreater(engine["adapter_loads"], 4, "two slots for four adapters")

    def test_sequences_that_are_preempted_go_on_as_if_nothing_had_been(self):
        case = GOLDEN[0]
        preempted = self.cluster.asked("llm_engine/0", "get_state")["preemptions"]
        told = self.complete(case, n=16, extra_body={"max_tokens": 300, "ignore_eos": True})
        self.assertEqual(told.usage.completion_tokens, 16 * 300)
        self.assertEqual(len({choice.text for choice in told.choices}), 1)  # all are greedy
        self.assertTrue(told.choices[0].text.startswith(case["text"]))
        self.assert_balanced()
        self.assertGreater(self.cluster.asked("llm_engine/0", "get_state")["preemptions"], preempted)

    def test_streams_say_the_same(self):
        def stream(case):
            text, reason, usage = "", None, None
            for event in self.complete(case, stream=True, stream_options={"include_usage": True}):
                if event.usage:
                    usage = event.usage
                for choice in event.choices:
                    text += choice.text
                    reason = choice.finish_reason or reason
            return text, reason, usage.completion_tokens

        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            for case, told in zip(GOLDEN, pool.map(stream, GOLDEN)):
                self.assertEqual(told, (case["text"], "stop", len(case["output_ids"])), case)

    def test_tokens_as_prompts_several_at_once_and_choices(self):
        cases = [c for c in GOLDEN if c["adapter"] == GOLDEN[-1]["adapter"]][:3]
        model = cases[0]["adapter"] or "tasks"
        answer = self.client.completions.create(model=model, prompt=[c["prompt_ids"] for c in cases], temperature=0,
                                                max_tokens=32, n=2)
        self.assertEqual([c.text for c in sorted(answer.choices, key=lambda c: c.index)],
                         [c["text"] for c in cases for _ in range(2)])
        self.assertEqual(answer.usage.prompt_tokens, sum(len(c["prompt_ids"]) for c in cases))

    def test_a_seed_says_the_same_again(self):
        def ask(seed):
            return self.client.completions.create(model="tasks", prompt="abc=", temperature=1.5, max_tokens=24, n=4,
                                                  seed=seed, extra_body={"ignore_eos": True})

        first, again, other = ask(7), ask(7), ask(8)
        texts = [[c.text for c in a.choices] for a in (first, again, other)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        self.assertGreater(len(set(texts[0])), 1)
        self.assertEqual({c.finish_reason for c in first.choices}, {"length"})

    def test_stop_strings_and_logprobs(self):
        case = max((c for c in GOLDEN if c["adapter"] is None), key=lambda c: len(c["text"]))
        middle = case["text"][1:3]
        choice = self.complete(case, stop=[middle], logprobs=3).choices[0]
        self.assertEqual((choice.text, choice.finish_reason), (case["text"][:case["text"].index(middle)], "stop"))
        whole = self.complete(case, logprobs=3).choices[0]
        told = whole.logprobs
        self.assertEqual(len(told.tokens), len(case["output_ids"]))
        self.assertTrue(all(p <= 0 for p in told.token_logprobs))
        for chosen, top in zip(told.token_logprobs, told.top_logprobs):
            self.assertAlmostEqual(max(top.values()), chosen, places=4)  # greedy

    def test_chats_with_a_template(self):
        case = next(c for c in GOLDEN if c["adapter"] == "upper")
        messages = [{"role": "user", "content": case["prompt"].removesuffix("=")}]
        told = self.client.chat.completions.create(model="upper", messages=messages, temperature=0)
        self.assertEqual((told.choices[0].message.content, told.choices[0].finish_reason), (case["text"], "stop"))
        text, roles = "", []
        for event in self.client.chat.completions.create(model="upper", messages=messages, temperature=0, stream=True):
            for choice in event.choices:
                text += choice.delta.content or ""
                roles.append(choice.delta.role)
        self.assertEqual(text, case["text"])
        self.assertEqual(roles[0], "assistant")

    def test_a_chat_gives_variables_to_the_template(self):
        def tokens(kwargs):
            body = {"model": "tasks", "messages": [{"role": "user", "content": "abc"}], "max_tokens": 1,
                    "chat_template_kwargs": kwargs}
            status, _, text = self.cluster.ask("POST", "/v1/chat/completions", json.dumps(body))
            answer = json.loads(text)
            return answer["usage"]["prompt_tokens"] if status == 200 else (status, answer["error"]["param"])

        plain = tokens({})
        self.assertEqual(tokens({"doubled": False, "enable_thinking": True}), plain)
        self.assertGreater(tokens({"doubled": True}), plain)
        self.assertEqual(tokens({"messages": []}), (400, "chat_template_kwargs"))

    def test_a_client_that_leaves_frees_its_place(self):
        before = self.cluster.asked("llm_engine/0", "get_state")["generated_tokens"]
        stream = self.client.completions.create(model="tasks", prompt="abc=", max_tokens=300, n=16, stream=True,
                                                extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        self.assert_balanced()
        after = self.cluster.asked("llm_engine/0", "get_state")["generated_tokens"]
        self.assertLess(after - before, 16 * 300 / 2)
        self.assertRegex(self.cluster.ask("GET", "/metrics")[2],
                         r'(?m)^troupe_llm_requests_dropped_total{.*reason="cancelled".*} [1-9]')

    def test_the_example_of_tenants_with_an_adapter_each(self):
        example = [sys.executable, EXAMPLES / "lora_tenants" / "tenants.py", self.cluster.url, "6"]
        done = subprocess.run(example, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assert_balanced()

    def test_a_conversation_in_the_terminal(self):
        case = next(c for c in GOLDEN if c["adapter"] == "upper")
        chat = [processes.PROGRAM, "chat", self.cluster.url, "--model", "upper", "--temperature", "0"]
        words = case["prompt"].removesuffix("=")
        done = subprocess.run(chat, input=words + "\n", capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.strip(), case["text"])

    def test_models_and_tokens(self):
        models = {m.id: m for m in self.client.models.list()}
        self.assertEqual(set(models), {"tasks", "reverse", "upper", "sort", "rot13", "torn"})
        self.assertEqual(models["upper"].parent, "tasks")
        self.assertIsNone(models["tasks"].parent)
        self.assertEqual(self.client.models.retrieve("sort"), models["sort"])
        case = GOLDEN[0]
        status, _, text = self.cluster.ask("POST", "/tokenize", json.dumps({"model": "tasks", "prompt": case["prompt"]}))
        self.assertEqual((status, json.loads(text)["tokens"]), (200, case["prompt_ids"]))
        asked = json.dumps({"model": "tasks", "prompt": "ab", "return_token_strs": True})
        self.assertEqual(json.loads(self.cluster.ask("POST", "/tokenize", asked)[2])["token_strs"],
                         ["<s>", "▁", "a", "b"])
        status, _, text = self.cluster.ask("POST", "/detokenize", json.dumps({"tokens": case["output_ids"][:-1]}))
        self.assertEqual((status, json.loads(text)["prompt"]), (200, case["text"]))
        self.assertEqual(self.cluster.ask("POST", "/detokenize", json.dumps({"tokens": [99999]}))[0], 400)

    def test_the_longest_text_is_as_long_as_it_is_said_to_be(self):
        longest = self.client.models.retrieve("tasks").max_model_len
        full = self.client.completions.create(model="tasks", prompt=[1] * (longest - 1), max_tokens=1)
        self.assertEqual(full.usage.total_tokens, longest)
        with self.assertRaises(openai.BadRequestError) as e:
            self.client.completions.create(model="tasks", prompt=[1] * longest, max_tokens=1)
        self.assertEqual(e.exception.code, "context_length_exceeded")
        self.assertIn(f"maximum context length is {longest} tokens", str(e.exception))

    def test_an_adapter_whose_files_will_not_do_is_named(self):
        with self.assertRaises(openai.InternalServerError) as e:
            self.complete({"adapter": "torn", "prompt": "abc="})
        self.assertEqual((e.exception.code, e.exception.param), ("adapter_unusable", "model"))
        self.assertEqual(e.exception.body["message"], "request failed: adapter 'torn' cannot be loaded")
        listed = self.cluster.asked("llm_engine/0", "list_adapters", limit=100, after="")
        known = {a["name"]: a for a in listed["adapters"]}
        self.assertIn("adapter_model.safetensors", known["torn"]["problem"])
        self.assert_balanced()

    def test_errors_have_their_classes(self):
        with self.assertRaises(openai.NotFoundError) as e:
            self.client.completions.create(model="nobody", prompt="a")
        self.assertEqual(e.exception.code, "model_not_found")
        for bad, param in (({"max_tokens": 0}, "max_tokens"), ({"temperature": -1}, "temperature"),
                           ({"max_tokens": 100000}, "prompt"), ({"n": 17}, "n"),
                           ({"logit_bias": {"99999": 1}}, "logit_bias"), ({"prompt": [99999]}, "prompt"),
                           ({"prompt": ""}, None)):
            with self.subTest(bad=bad):
                if bad == {"prompt": ""}:  # a BOS token is a sufficient prompt
                    self.client.completions.create(model="tasks", prompt="")
                    continue
                with self.assertRaises(openai.BadRequestError) as e:
                    self.client.completions.create(**{"model": "tasks", "prompt": "a", **bad})
                self.assertEqual(e.exception.param, param)
        self.assert_balanced()

    def test_adapters_come_and_go(self):
        ask = self.cluster.ask
        load = {"lora_name": "backwards", "lora_path": str(TASKS / "adapters" / "reverse")}
        self.assertEqual(ask("POST", "/v1/load_lora_adapter", json.dumps(load))[0], 200)
        case = next(c for c in GOLDEN if c["adapter"] == "reverse")
        self.assertEqual(self.complete({**case, "adapter": "backwards"}).choices[0].text, case["text"])
        self.assertEqual(ask("POST", "/v1/load_lora_adapter", json.dumps(load))[0], 400)
        load = {"lora_name": "other", "lora_path": str(TASKS)}
        status, _, text = ask("POST", "/v1/load_lora_adapter", json.dumps(load))
        self.assertEqual(status, 400)
        self.assertIn("adapter_config.json", json.loads(text)["error"]["message"])
        unload = json.dumps({"lora_name": "backwards"})
        self.assertEqual(ask("POST", "/v1/unload_lora_adapter", unload)[0], 200)
        self.assertEqual(ask("POST", "/v1/unload_lora_adapter", unload)[0], 404)
        with self.assertRaises(openai.NotFoundError):
            self.complete({**case, "adapter": "backwards"})
        self.assert_balanced()

    def test_metrics_that_the_inference_gateway_reads(self):
        with_adapter = next(g for g in GOLDEN if g["adapter"])

        def changed_at():  # not at all if every status of the engine falls between two requests
            self.complete(with_adapter)
            text = self.cluster.ask("GET", "/metrics")[2]
            return float(re.search(r"(?m)^vllm:lora_requests_info{.*} ([0-9.e+]+)$", text)[1])

        self.assertTrue(eventually(lambda: abs(changed_at() - time.time()) < 600))
        text = self.cluster.ask("GET", "/metrics")[2]
        for name in ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"):
            self.assertRegex(text, rf'(?m)^{name}{{model_name="tasks"}} [0-9]')
        self.assertRegex(text, r'(?m)^vllm:lora_requests_info{.*max_lora="2".*running_lora_adapters=".*waiting_lora_adapters=')
        self.assertRegex(text, r'(?m)^vllm:max_gpu_lora_adapters{.*model_name="tasks".*} 2$')
        self.assertRegex(text, r'(?m)^vllm:num_gpu_loaded_lora_adapters{.*} [12]$')
        self.assertRegex(text, r'(?m)^vllm:lora_adapter_loaded{.*adapter_name="[a-z0-9]+".*level="gpu".*} 1$')
        self.assertRegex(text, r'(?m)^vllm:lora_adapter_load_seconds_count{.*} [1-9]')
        self.assertRegex(text, r'(?m)^vllm:time_to_first_token_seconds_count{model_name="tasks"} [1-9]')
        self.assertRegex(text, r'(?m)^troupe_llm_ledger_balanced 1$')


class Tenants(ClusterTest):
    def test_keys_models_and_quotas_hold_for_sequences_too(self):
        with Cluster(model_text=f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
[[tenant]]
name = "anna"
key = "anna-key-0123456789"
models = ["upper"]
[[tenant]]
name = "bert"
key = "bert-key-0123456789"
rate_rps = 0.001
burst = 1
""") as c:
            c.start()

            def ask(key, model):
                with openai.OpenAI(base_url=c.url + "/v1", api_key=key, timeout=PATIENCE, max_retries=0) as client:
                    return client.completions.create(model=model, prompt="abc=", temperature=0).choices[0].text

            self.assertEqual(ask("anna-key-0123456789", "upper"), "ABC")
            with self.assertRaises(openai.NotFoundError):
                ask("anna-key-0123456789", "reverse")
            with self.assertRaises(openai.AuthenticationError):
                ask("nobody's", "upper")
            self.assertEqual(ask("bert-key-0123456789", "reverse"), "cba")
            with self.assertRaises(openai.RateLimitError):
                ask("bert-key-0123456789", "reverse")
            with openai.OpenAI(base_url=c.url + "/v1", api_key="anna-key-0123456789") as client:
                self.assertEqual([m.id for m in client.models.list()], ["upper"])


if __name__ == "__main__":
    cluster.main()
