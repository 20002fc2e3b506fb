#!/usr/bin/env python3
"""The web page of a gateway: its data, its authorization, and the page itself in a browser."""
import contextlib
import http.client
import json
import os
import threading
import time
import urllib.request
from pathlib import Path

import cluster
from browser import Browser
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, Emulated, Fixture
from processes import PATIENCE

PROFILE = Path(__file__).resolve().parents[2] / "examples" / "profiles" / "punica-7b-a100.toml"


def events(port, key=None):
    """The documents of a stream, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/ui/events", headers={"Authorization": f"Bearer {key}"} if key else {})
    answer = connection.getresponse()
    assert answer.status == 200, (answer.status, answer.read())
    assert answer.getheader("Content-Type") == "text/event-stream"
    try:
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
    finally:
        connection.close()


class Ui(ClusterTest):
    @contextlib.contextmanager
    def asked(self, c):
        """Meanwhile two clients send requests to the model."""
        over = threading.Event()
        body = Fixture("mlp").body(1)

        def ask():
            while not over.is_set():
                c.infer("mlp", body)
        clients = [threading.Thread(target=ask) for _ in range(2)]
        for t in clients:
            t.start()
        try:
            yield
        finally:
            over.set()
            for t in clients:
                t.join()

    def until(self, stream, holds):
        end = time.monotonic() + PATIENCE
        for doc in stream:
            if holds(doc):
                return doc
            self.assertLess(time.monotonic(), end, doc)
        self.fail("the stream ended")

    def test_the_stream_tells_of_nodes_batches_and_rates(self):
        with Cluster() as c:
            c.start()
            with self.asked(c):
                doc = self.until(events(c.http_port), lambda d: d["models"] and d["models"][0]["requests_per_s"]
                                 and d["slots"][0]["batches"] and d["slots"][0]["busy"])
            self.assertEqual({n["name"]: n["state"] for n in doc["nodes"]}, {"head": "up", "worker": "up"})
            self.assertEqual(doc["models"][0]["name"], "mlp")
            self.assertEqual(doc["slots"][0]["batches"][-1]["model"], "mlp")
            self.assertGreater(doc["models"][0]["goodput_per_s"], 0)

    def test_watchers_are_bounded_and_those_who_leave_make_room(self):
        with Cluster() as c:
            c.start()
            streams = [events(c.http_port) for _ in range(32)]
            for s in streams:
                next(s)
            self.assertEqual(c.get("/ui/events")[0], 503, "one too many")
            for s in streams:
                s.close()
            self.until(events_when_free(c.http_port), lambda d: True)

    def test_with_keys_only_the_administrator_watches(self):
        with Cluster() as c:
            key = "admin-key-0123456"
            c.file.write_text(c.file.read_text() + f'[admin]\nkey = "{key}"\n')
            c.start()
            status, headers, text = c.ask("GET", "/ui")
            self.assertEqual(status, 200)
            self.assertIn("script-src 'sha256-", headers["Content-Security-Policy"])
            self.assertNotIn("mlp", text)
            self.assertEqual(c.get("/ui/events")[0], 401)
            self.until(events(c.http_port, key), lambda d: d["cluster"] == "test")
            with Browser(c.url + "/ui") as page:
                page.wait_for("document.getElementById('login').className === 'asked'")
                page.value(f"document.getElementById('key').value = '{key}'; document.querySelector('button').click()")
                page.wait_for("document.getElementById('nodes').innerText.includes('worker')")

    def test_the_page_shows_a_cluster_at_work(self):
        """With TROUPE_SCREENSHOT it saves a picture there."""
        models = "".join(f"""[[model]]
name = "{name}"
slo_ms = 4000
max_batch = 32
profile = {{ alpha_ms = {alpha}, beta_ms = {beta} }}
input_bytes = 4
output_bytes = 4
""" for name, alpha, beta in (("resnet50", 4, 80), ("bert", 10, 120), ("yolo", 6, 200)))
        with Cluster(device='kind = "emulated"\ncount = 3', model_text=models + f"""[[llm]]
name = "llama-7b"
device = "emulated"
profile = "{PROFILE}"
model = "{FIXTURES.parent / 'llama-tasks' / 'base'}"
max_positions = 4096
kv_mb = 2048
emulated_adapters = 100
adapter_slots = 8
engines_per_node = 2
max_sequences = 4
""") as c:
            c.start()
            over = threading.Event()

            def ask(path, body):
                while not over.is_set():
                    request = urllib.request.Request(c.url + path, body, {"Content-Type": "application/json"})
                    with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                        answer.read()
            work = [(f"/v2/models/{m}/infer", Emulated(m, 4).body().encode())
                    for m, n in (("resnet50", 10), ("bert", 6), ("yolo", 4)) for _ in range(n)]
            work += [("/v1/completions", json.dumps({"model": f"adapter-{i:04}", "prompt": "abc=", "max_tokens": 60,
                                                     "temperature": 0}).encode()) for i in range(8)]
            clients = [threading.Thread(target=ask, args=w) for w in work]
            for t in clients:
                t.start()
            try:
                with Browser(c.url + "/ui", height=1020) as page:
                    page.wait_for("document.getElementById('link').textContent === 'live'")
                    self.assertEqual(page.value("[...document.querySelectorAll('.node.up b')].map(n => n.textContent)"),
                                     ["head", "worker"])
                    row = "[...document.querySelectorAll('#models tr')].find(r => r.cells[0].textContent === 'bert')"
                    page.wait_for(f"parseFloat({row}.cells[2].textContent) > 0")
                    page.wait_for("document.querySelector('#engines').innerText.includes('adapter-0003')")
                    page.wait_for("parseFloat(document.querySelectorAll('#engines tr')[1].cells[6].textContent) > 0")
                    for cell in (1, 3, 4, 5):  # requests, tokens, TTFT, ITL
                        page.wait_for(f"parseFloat(document.querySelectorAll('#llms tr')[1].cells[{cell}].textContent) > 0")
                    page.wait_for("document.getElementById('legend').innerText.includes('yolo')")
                    page.wait_for("document.querySelectorAll('.track').length === 5")
                    self.assertEqual(page.value("document.querySelectorAll('b b, script').length"), 1)
                    painted = """[...document.querySelectorAll('.track canvas')].every(c => c.width > 0 && c.getContext('2d')
                        .getImageData(0, 0, c.width, c.height).data.some(x => x > 0))"""
                    page.wait_for(painted)
                    if picture := os.environ.get("TROUPE_SCREENSHOT"):
                        time.sleep(22)  # until the timelines are full
                        page.screenshot(Path(picture))
                    over.set()
                    for t in clients:
                        t.join()
                    c.processes[0].kill()
                    page.wait_for("document.getElementById('link').textContent.startsWith('connection lost')")
            finally:
                over.set()
                for t in clients:
                    t.join()

    def test_who_is_killed_is_down(self):
        with Cluster(limits="node_timeout_ms = 2000") as c:
            head = c.start("--node", "head", ready=None)
            worker = c.start("--node", "worker", ready=None)
            head.wait_line(r"^troupe: ready")
            stream = events(c.http_port)
            self.until(stream, lambda d: all(n["state"] == "up" for n in d["nodes"]))
            worker.kill()
            self.until(stream, lambda d: d["nodes"][1]["state"] != "up" and d["nodes"][0]["state"] == "up")


def events_when_free(port):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            stream = events(port)
            yield next(stream)
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    cluster.main()
