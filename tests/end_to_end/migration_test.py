#!/usr/bin/env python3
"""Sequences migrate between engines while their clients read: moved by an operator, by a draining node, by a dying
engine. Three processes, real weights, every stream compared token by token with an undisturbed one."""
import json
import os
import signal
import threading

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually, run
from streams import Streams

TASKS = FIXTURES.parent / "llama-tasks"
NODES = ("first", "second")


def two_engines(more="", **options):
    return Cluster(workers=NODES, device='kind = "cpu"', slo_ms=10000, model_text=f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
nodes = ["first", "second"]
routing = "least_loaded"
max_sequences = 16
kv_mb = 8
{more}""", **options)


class Migration(ClusterTest):
    def check(self, streams):
        self.assertEqual(streams.wrong, [])
        self.assertGreater(streams.right, 0)

    def router(self, c):
        return c.asked("llm_router/0", "get_state")

    def assert_clean(self, c):
        """No sequence is left on any engine, and the ledger balances."""
        for engine in range(2):
            def empty():
                s = c.asked(f"llm_engine/{engine}", "get_state")
                return s["running"] == s["waiting"] == 0 and s["kv_blocks_free"] == s["kv_blocks"]
            self.assertTrue(eventually(empty))
        self.assertTrue(eventually(lambda: self.router(c)["requests"] == 0))
        self.assertEqual(c.metric("troupe_llm_ledger_balanced"), 1)
        self.assertEqual(c.metric("troupe_llm_requests_finished_total"), c.metric("troupe_llm_requests_accepted_total"))

    def test_operators_move_sequences_and_empty_engines_and_no_stream_notices(self):
        with two_engines() as c:
            c.start()
            with Streams(c) as streams:
                streams.more()
                moved = 0
                for _ in range(20):
                    for generation in c.asked("llm_router/0", "list_generations", limit=4, after=0)["generations"]:
                        code, _, err = run("migrate", c.file, generation["request"], "--engine", 1 - generation["engine"])
                        moved += code == 0
                        if code != 0:
                            self.assertRegex(err, "there is no request|is on engine|no room|waits")
                    if moved >= 8 or streams.wrong:
                        break
                self.assertGreater(moved, 0)
                for engine in (0, 1, 0):
                    code, out, err = run("drain", c.file, "--engine", engine, "--wait", PATIENCE)
                    self.assertEqual((code, err), (0, ""), out)
                    streams.more()
                    self.assertEqual(self.router(c)["engines"][engine]["sequences"], 0)
                    self.assertEqual(run("drain", c.file, "--engine", engine, "--open")[0], 0)
                    streams.more()
            self.check(streams)
            engines = [c.asked(f"llm_engine/{engine}", "get_state") for engine in range(2)]
            self.assertGreater(sum(e["kv_positions_pulled"] for e in engines), 0)
            state = self.router(c)
            self.assertEqual(state["asked"], moved)
            self.assertGreater(state["drained"], 0)
            self.assert_clean(c)

    def test_keys_and_values_move_with_a_sequence_and_no_token_is_computed_twice(self):
        with two_engines("prefix_cache = false\n") as c:
            c.start()
            prompt, generated = [7 + i % 20 for i in range(60)], 440
            def answer():
                body = {"model": "tasks", "prompt": prompt, "max_tokens": generated, "temperature": 0, "ignore_eos": True}
                status, text = c.post("/v1/completions", json.dumps(body))
                self.assertEqual(status, 200, text)
                return json.loads(text)["choices"][0]["text"]
            undisturbed = answer()
            def count(what):
                return sum(c.asked(f"llm_engine/{engine}", "get_state")[what] for engine in range(2))
            moved = 0
            for _ in range(50):  # the answer may be faster than the command
                before, answers, moves = count("computed_tokens"), [], 0
                stream = threading.Thread(target=lambda: answers.append(answer()))
                stream.start()
                while stream.is_alive() and moves < 3:
                    for generation in c.asked("llm_router/0", "list_generations", limit=1, after=0)["generations"]:
                        to = 1 - generation["engine"]
                        moves += run("migrate", c.file, generation["request"], "--engine", to)[0] == 0
                stream.join()
                self.assertEqual(answers, [undisturbed])
                if count("kv_pulls_failed") == 0:  # a lease may expire on a busy machine; nobody computes the last token
                    self.assertEqual(count("computed_tokens") - before, len(prompt) + generated - 1)
                moved += moves
                if moved >= 3:
                    break
            self.assertGreater(moved, 0)
            engines = [c.asked(f"llm_engine/{engine}", "get_state") for engine in range(2)]
            self.assertGreater(sum(e["kv_bytes_pulled"] for e in engines), 0)
            self.assert_clean(c)

    def test_a_node_that_leaves_breaks_no_stream(self):
        with two_engines(limits="drain_timeout_ms = 60000\nnode_timeout_ms = 20000") as c:
            up = c.start()
            with Streams(c) as streams:
                streams.more()
                code, out, err = run("drain", c.file, "first", "--wait", PATIENCE)
                self.assertEqual(code, 0, out + err)
                self.assertTrue(eventually(lambda: "node 'first' ended with exit code 0" in up.output()), up.output())
                streams.more()
            self.check(streams)
            self.assertGreater(self.router(c)["drained"], 0)

    def test_sequences_of_an_engine_that_is_killed_go_on_on_the_other(self):
        with two_engines() as c:
            up = c.start()
            with Streams(c) as streams:
                for node in ("first", "second", "first"):
                    streams.more()
                    os.kill(up.pid_of(node), signal.SIGKILL)  # its parent restarts it
                    streams.more()
                    self.assertTrue(eventually(lambda: all(e["state"] == "open" for e in self.router(c)["engines"])))
            self.check(streams)
            self.assert_clean(c)
            print(f"longest pause of a stream while engines were killed: {streams.longest_gap * 1e3:.0f} ms")


if __name__ == "__main__":
    cluster.main()
