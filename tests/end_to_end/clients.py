"""Clients of a cluster that count the outcomes of their requests."""
import collections
import http.client
import math
import threading
import time

from processes import PATIENCE


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else math.nan


class Load:
    """Clients that each send one request after the other until stopped, and count the outcomes."""

    def __init__(self, cluster, fixtures, clients=8, pause=0.0, slo_ms=None, port=None):
        self.cluster, self.fixtures, self.pause, self.slo_ms, self.port = cluster, fixtures, pause, slo_ms, port
        self.lock = threading.Lock()
        self.results = []  # (sent at, took, status or exception, reason, right)
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._client, args=(i,), daemon=True) for i in range(clients)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *failure):
        self.stop()

    def _client(self, number):
        fixture = self.fixtures[number % len(self.fixtures)]
        first = number % fixture.rows
        body = fixture.body(1, self.slo_ms, first)
        while not self.over.is_set():
            began = time.monotonic()
            try:
                status, answer = self.cluster.infer(fixture.name, body, self.port)
                right = status != 200 or fixture.distance(answer, first) <= 1e-4
                reason = answer.get("error", "")
            except (OSError, http.client.HTTPException, ValueError) as e:
                status, reason, right = type(e), str(e), True
            with self.lock:
                self.results.append((began, time.monotonic() - began, status, reason, right))
            self.over.wait(self.pause)

    def finished(self):
        """(sent, answered) times of each request that was answered with 200."""
        with self.lock:
            return [(began, began + took) for began, took, status, _, _ in self.results if status == 200]

    def finished_at(self):
        """Times of the answers with 200, in order."""
        return sorted(end for _, end in self.finished())

    def wait_finished(self, n):
        """Waits until n more requests have been answered with 200."""
        goal = self.count(200) + n
        end = time.monotonic() + PATIENCE
        while self.count(200) < goal:
            assert time.monotonic() < end, f"no {n} more answers: {self.summary()}"
            time.sleep(0.02)

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join(PATIENCE)
            assert not t.is_alive(), "a request hangs"

    def count(self, *statuses, reason=""):
        with self.lock:
            return sum(1 for r in self.results if r[2] in statuses and reason in r[3])

    def summary(self):
        with self.lock:
            return collections.Counter((str(r[2]), r[3]) for r in self.results)
