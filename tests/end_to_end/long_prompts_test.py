#!/usr/bin/env python3
"""Prompts of 220 KiB on many connections, and short requests beside them, by wrk: they are tokenized on other threads than
those of HTTP.

    long_prompts_test.py PROGRAM                    a short run, as ctest does it
    long_prompts_test.py PROGRAM --tokenizer DIR    a long one, with its figures
"""
import argparse
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES
from processes import PATIENCE, eventually

BASE = FIXTURES.parent / "llama-tasks" / "base"
ROOT = Path(__file__).resolve().parents[2]
LONG, SHORT = 220 << 10, 2 << 10
SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency, requests)
  local e = summary.errors
  print(string.format('{{"rate": %.1f, "p50_ms": %.2f, "p99_ms": %.2f, "errors": %d}}',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""
# An engine that is never the bottleneck.
PROFILE = """[step]
fixed_us = 200
prefill_token_us = 0.001
prefill_context_ns = 0
decode_us = 1
decode_context_ns = 0
longest_context_ns = 0
[kv]
token_bytes = 64
[adapter]
load_ms = 1
"""


def prose(size):
    pages = "\n".join(p.read_text() for p in sorted(ROOT.glob("docs/*.md")))
    return (pages * (size // len(pages) + 1)).encode()[:size].decode(errors="ignore")


def body_of(size):
    return json.dumps({"model": "m", "prompt": prose(size), "max_tokens": 1}).encode()


@contextlib.contextmanager
def serving(tokenizer=None, limits=""):
    """A cluster with the model "m" on an emulated engine."""
    with tempfile.TemporaryDirectory() as folder:
        model, profile = Path(folder, "model"), Path(folder, "profile.toml")
        shutil.copytree(BASE, model)
        profile.write_text(PROFILE)
        if tokenizer:
            for f in [*model.glob("tokenizer*")]:
                f.unlink()
            shutil.copytree(tokenizer, model, dirs_exist_ok=True)
            config = json.loads((model / "config.json").read_text())
            (model / "config.json").write_text(json.dumps(config | {"vocab_size": 300000}))
        text = f"""[[llm]]
name = "m"
device = "emulated"
profile = "{profile}"
model = "{model}"
max_positions = 1000000
kv_mb = 20480
prefill_chunk = 65536
max_sequences = 64
"""
        with Cluster(model_text=text, limits="node_timeout_ms = 20000\n" + limits) as c:
            c.start()
            yield c


@contextlib.contextmanager
def load(c, size, connections, seconds):
    """wrk, which has ended at the end of the block; a list that then has its results."""
    with tempfile.TemporaryDirectory() as folder:
        body, script = Path(folder, "body.json"), Path(folder, "load.lua")
        body.write_bytes(body_of(size))
        script.write_text(SCRIPT.format(body=body))
        results = []
        wrk = subprocess.Popen(["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s",
                                "--timeout", "30s", "--script", str(script), f"{c.url}/v1/completions"],
                               stdout=subprocess.PIPE, text=True)
        try:
            yield results
            out, _ = wrk.communicate(timeout=seconds + PATIENCE)
            results.append(json.loads(out.splitlines()[-1]))
        finally:
            wrk.kill()
            wrk.wait()


class LongPrompts(ClusterTest):
    def test_long_prompts_and_short_ones_beside_them_are_all_answered(self):
        with serving() as c:
            with load(c, LONG, connections=4, seconds=3) as long, load(c, SHORT, connections=1, seconds=3) as short:
                pass
            for (seen,) in (long, short):
                self.assertEqual(seen["errors"], 0)
                self.assertGreater(seen["rate"], 0)
            self.assertEqual(c.metric("troupe_ledger_balanced"), 1)

    def test_clients_that_leave_cost_nothing_and_a_cluster_stops_while_prompts_wait(self):
        with serving(limits="tokenizer_threads = 1\n") as c:
            (up,) = c.processes
            body = body_of(4 << 20)
            head = f"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            for _ in range(8):
                with socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE) as s:
                    s.sendall(head + body)
            connection = http.client.HTTPConnection("127.0.0.1", c.http_port, timeout=PATIENCE)
            connection.request("POST", "/v1/completions", body_of(LONG), {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            waiting = []
            for _ in range(8):
                waiting.append(socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE))
                waiting[-1].sendall(head + body)
            up.terminate()
            self.assertEqual(up.wait(), 0)
            for s in waiting:
                s.close()

    def test_more_than_may_wait_is_refused_with_503(self):
        with serving(limits="tokenizer_threads = 1\nbody_mb = 8\nhttp_bodies_mb = 16\n") as c:
            body = body_of(7 << 20)
            head = f"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode()

            def some_are_refused():  # unless this process sends more slowly than the thread tokenizes
                with contextlib.ExitStack() as sockets:
                    open_ = [sockets.enter_context(
                        socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE)) for _ in range(8)]
                    for s in open_:
                        s.sendall(head + body)
                    refused = [a for a in (s.recv(4096) for s in open_) if a.startswith(b"HTTP/1.1 503")]
                return any(b"too many long texts wait" in a and b"Retry-After: 1" in a for a in refused)

            self.assertTrue(eventually(some_are_refused))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json or tokenizer.model")
    options.add_argument("--limits", default="", help="more keys of [limits]")
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--seconds", type=int, default=10)
    o = options.parse_args()
    processes.PROGRAM = o.program
    with serving(o.tokenizer, o.limits.replace(";", "\n") + "\n") as c:
        with load(c, SHORT, 1, o.seconds) as alone:
            pass
        with load(c, LONG, o.connections, o.seconds) as long:
            pass
        with load(c, LONG, o.connections, o.seconds + 1) as both:
            time.sleep(0.5)
            with load(c, SHORT, 1, o.seconds - 1) as beside:
                pass
    print(f"220 KiB, {o.connections} connections: {long[0]}\n2 KiB alone: {alone[0]}\n2 KiB beside them: {beside[0]}; "
          f"they: {both[0]}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main())
    cluster.main()
