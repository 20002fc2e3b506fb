#!/usr/bin/env python3
"""The prefix cache of a language model: a chat reads each token once, answers have the same bits as without a cache,
and adapters, tenants and salts share nothing."""
import json

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES

TASKS = FIXTURES.parent / "llama-tasks"
ANSWERED = 57  # the token that a bias makes the model choose


def model(**keys):
    lines = "".join(f"{k} = {json.dumps(v)}\n" for k, v in keys.items())
    return f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
adapter_slots = 2
kv_mb = 8
{lines}"""


def said(c, prompt, key=None, **fields):
    """The answer to a prompt of tokens."""
    body = {"model": "tasks", "prompt": prompt, "max_tokens": 5, "temperature": 0, "ignore_eos": True} | fields
    status, _, text = c.ask("POST", "/v1/completions", json.dumps(body), key, {"Content-Type": "application/json"})
    assert status == 200, text
    return json.loads(text)


def cached(answer):
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def numbers(first, count):
    return [3 + (first + 7 * i) % 300 for i in range(count)]


def chat(c, turns=10):
    """Tokens of the chat, tokens read, and the answers."""
    history, read, answers = [], 0, []
    for turn in range(turns):
        history += numbers(11 * turn, 13)
        answer = said(c, history, max_tokens=9, logprobs=3, logit_bias={str(ANSWERED): 100})
        usage = answer["usage"]
        assert usage["prompt_tokens"] == len(history)
        read += len(history) - cached(answer) + usage["completion_tokens"] - 1  # the last token is not read
        answers.append(answer["choices"])
        history += [ANSWERED] * usage["completion_tokens"]
    return history, read, answers


class PrefixCache(ClusterTest):
    def test_a_chat_of_ten_turns_reads_each_token_once_and_answers_with_the_same_bits(self):
        answers = []
        for block_tokens, prefix_cache in ((1, True), (16, True), (16, False)):
            with Cluster(model_text=model(block_tokens=block_tokens, prefix_cache=prefix_cache)) as c:
                c.start()
                history, read, got = chat(c)
                answers.append(got)
                engine = c.asked("llm_engine/0", "get_state")
                self.assertEqual(engine["kv_blocks_free"], engine["kv_blocks"])
                if not prefix_cache:
                    self.assertGreater(read, 5 * len(history))
                    self.assertEqual((engine["cache_queries"], engine["kv_blocks_cached"]), (0, 0))
                    continue
                once = len(history) - 1
                self.assertGreaterEqual(read, once)
                self.assertLessEqual(read, once + 9 * (block_tokens - 1))
                print(f"blocks of {block_tokens}: {read} tokens read of a chat of {len(history)}")
                prompts = sum(13 + 22 * turn for turn in range(10))
                self.assertEqual(engine["cache_queries"], prompts)
                self.assertEqual(engine["cache_hits"], prompts - (read - 10 * 8))
                self.assertEqual(c.metric("vllm:prefix_cache_queries_total", model_name="tasks"), prompts)
                self.assertEqual(c.metric("vllm:prefix_cache_hits_total", model_name="tasks"), engine["cache_hits"])
                self.assertGreater(engine["kv_blocks_cached"], 0)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])  # texts and log-probabilities

    def test_salts_and_adapters_share_nothing_and_choices_share_their_prompt(self):
        with Cluster(model_text=model()) as c:
            c.start()
            prompt = numbers(1, 70)
            plain = said(c, prompt)
            self.assertEqual(cached(plain), 0)
            self.assertEqual(cached(said(c, prompt)), 64)
            self.assertEqual(cached(said(c, prompt, cache_salt="a")), 0)
            self.assertEqual(cached(said(c, prompt, cache_salt="b")), 0)
            again = said(c, prompt, cache_salt="a")
            self.assertEqual(cached(again), 64)
            self.assertEqual(again["choices"], plain["choices"])
            self.assertEqual(cached(said(c, prompt, model="sort")), 0)
            self.assertEqual(cached(said(c, prompt, model="upper")), 0)
            self.assertEqual(cached(said(c, prompt, model="sort")), 64)
            self.assertEqual(cached(said(c, prompt[:64])), 48)  # the last token is always computed
            before = c.asked("llm_engine/0", "get_state")
            three = said(c, numbers(5, 40), n=3)
            after = c.asked("llm_engine/0", "get_state")
            self.assertEqual(cached(three), 0)  # of the prompt, which counts once
            self.assertEqual(after["cache_hits"] - before["cache_hits"], 64)  # by the other two
            self.assertEqual(len({choice["text"] for choice in three["choices"]}), 1)

            body = {"model": "tasks", "prompt": prompt, "max_tokens": 2, "stream": True,
                    "stream_options": {"include_usage": True}}
            status, text = c.post("/v1/completions", json.dumps(body))
            self.assertEqual(status, 200, text)
            usages = [json.loads(line[6:])["usage"] for line in text.splitlines() if line.startswith("data: {")]
            self.assertEqual(usages[-1]["prompt_tokens_details"], {"cached_tokens": 64})
            for salt in ("", 7):
                status, text = c.post("/v1/completions", json.dumps({"model": "tasks", "prompt": "a", "cache_salt": salt}))
                self.assertEqual((status, json.loads(text)["error"]["param"]), (400, "cache_salt"), text)

    def test_tenants_share_nothing(self):
        tenants = "".join(f'[[tenant]]\nname = "{name}"\nkey = "{name}-0123456789abcdef"\n' for name in ("one", "two"))
        with Cluster(model_text=tenants + model()) as c:
            c.start()
            prompt = numbers(3, 40)
            ask = lambda name, **fields: cached(said(c, prompt, f"{name}-0123456789abcdef", **fields))
            self.assertEqual([ask("one"), ask("two"), ask("one"), ask("two")], [0, 0, 32, 32])
            self.assertEqual([ask("one", cache_salt="s"), ask("two", cache_salt="s")], [0, 0])

    def test_cached_blocks_give_way_to_sequences(self):
        with Cluster(model_text=model(block_tokens=16, max_sequences=4).replace("kv_mb = 8", "kv_mb = 1")) as c:
            c.start()
            tokens = c.asked("llm_engine/0", "get_state")["kv_blocks"] * 16
            for i in range(12):
                said(c, [3 + i] + numbers(i, min(tokens // 4, 300)))
            engine = c.asked("llm_engine/0", "get_state")
            self.assertEqual((engine["preemptions"], engine["kv_blocks_free"]), (0, engine["kv_blocks"]))


if __name__ == "__main__":
    cluster.main()
