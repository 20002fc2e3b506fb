"""Clients that read seeded sequences over streams, and compare each with an undisturbed one."""
import contextlib
import http.client
import json
import threading
import time

from processes import PATIENCE, eventually

LENGTHS = range(100, 380, 35)  # of sequences, unequal: they do not all end at once, so an engine is never between sequences


class Streams:
    """Clients that repeat the same sequences, each over a stream; a context manager."""

    def __init__(self, c, clients=12, lengths=LENGTHS):
        self.cluster, self.clients, self.lengths = c, clients, lengths
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.right, self.wrong, self.longest_gap = 0, [], 0.0
        names = json.loads(c.get("/v1/models")[1])["data"]
        self.models = [m["id"] for m in names][:4]
        self.expected = {k: self.read(k)[0] for k in range(len(lengths))}

    def read(self, k):
        """(sequence, longest pause between two pieces in seconds) of the k-th sequence."""
        body = {"model": self.models[k % len(self.models)], "prompt": f"abc{k}=", "max_tokens": self.lengths[k],
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
