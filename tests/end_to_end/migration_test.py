#!/usr/bin/env python3
"""Sequences migrate between engines while their clients read: moved by an operator, by a draining node, by a dying
engine. Three processes, real weights, every stream compared token by token with an undisturbed one."""
import contextlib
import http.client
import json
import os
import signal
import threading
import time

import cluster
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually, run

TASKS = FIXTURES.parent / "llama-tasks"
NODES = ("first", "second")
LENGTHS = range(100, 380, 35)  # of sequences, unequal: they do not all end at once, so an engine is never between sequences


class Streams:
    """Clients that repeat the same sequences, each over a stream; a context manager."""

    def __init__(self, c, clients=12):
        self.cluster, self.clients = c, clients
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.right, self.wrong, self.longest_gap = 0, [], 0.0
        names = json.loads(c.get("/v1/models")[1])["data"]
        self.models = [m["id"] for m in names][:4]
        self.expected = {k: self.read(k)[0] for k in range(len(LENGTHS))}

    def read(self, k):
        """(sequence, longest pause between two pieces in seconds) of the k-th sequence."""
        body = {"model": self.models[k % len(self.models)], "prompt": f"abc{k}=", "max_tokens": LENGTHS[k],
                "ignore_eos": True, "temperature": 1, "presence_penalty": 0.3, "seed": k, "stream": True, "logprobs": 0}
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.http_port, timeout=PATIENCE)
        tokens, gap, last = [], 0.0, time.monotonic()
        with contextlib.closing(connection):
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            for line in response:
                if not line.startswith(b"data: "):
                    continue
                now = time.monotonic()
                gap, last = max(gap, now - last), now
                if line.startswith(b"data: [DONE]"):
                    return tokens, gap
                piece = json.loads(line[6:])
                assert "error" not in piece, piece
                for choice in piece["choices"]:
                    if choice.get("logprobs"):
                        tokens += choice["logprobs"]["tokens"]
        raise AssertionError(f"sequence {k}: its stream broke off after {len(tokens)} tokens")

    def _ask(self, k):
        while not self.over.is_set():
            try:
                got, gap = self.read(k)
                problem = None if got == self.expected[k] else f"sequence {k} differs: {got} not {self.expected[k]}"
            except (OSError, AssertionError, http.client.HTTPException) as e:
                problem, gap = f"sequence {k}: {e!r}", 0
            with self.lock:
                self.longest_gap = max(self.longest_gap, gap)
                if problem:
                    self.wrong.append(problem)
                else:
                    self.right += 1

    def __enter__(self):
        self.threads = [threading.Thread(target=self._ask, args=(i % len(self.expected),), daemon=True)
                        for i in range(self.clients)]
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *failure):
        self.over.set()
        for t in self.threads:
            t.join(PATIENCE)

    def more(self, n=8):
        """Waits until n more streams have ended."""
        with self.lock:
            enough = self.right + n
        assert eventually(lambda: self.right >= enough or self.wrong), "no stream ends"


def two_engines(**options):
    return Cluster(workers=NODES, device='kind = "cpu"', slo_ms=10000, model_text=f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "{TASKS / 'adapters'}"
nodes = ["first", "second"]
routing = "least_loaded"
max_sequences = 16
kv_mb = 8
""", **options)


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
            state = self.router(c)
            self.assertEqual(state["asked"], moved)
            self.assertGreater(state["drained"], 0)
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
