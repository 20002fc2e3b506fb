#!/usr/bin/env python3
"""Two thousand adapters on one engine. Two hundred of them are requested at once, beside one that is always in
use: every request is answered correctly, and slots and host memory stay within their bounds."""
import concurrent.futures
import json
import os
import random
import threading
import time
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES

TASKS = FIXTURES.parent / "llama-tasks"
GOLDEN = [c for c in json.loads((TASKS / "golden.json").read_text()) if c["adapter"]]
REGISTERED, USED, SLOTS, HOST_MB = 2000, 200, 8, 4


class Adapters(ClusterTest):
    def test_two_thousand_adapters_of_which_two_hundred_are_wanted_at_once(self):
        with Cluster(model_text=f"""[[llm]]
name = "tasks"
model = "{TASKS / 'base'}"
adapters = "adapters"
adapter_slots = {SLOTS}
adapter_mb = {HOST_MB}
max_sequences = 16
max_waiting = 4000
kv_mb = 4
""", env=processes.MEASURED) as c:
            kinds = sorted({case["adapter"] for case in GOLDEN})
            folder = Path(c.folder.name, "adapters")
            folder.mkdir()
            for i in range(REGISTERED):
                os.symlink(TASKS / "adapters" / kinds[i % len(kinds)], folder / f"adapter-{i:04}")
            up = c.start()
            status, text = c.get("/v1/models")
            self.assertEqual((status, len(json.loads(text)["data"])), (200, REGISTERED + 1))
            chance = random.Random(1)
            of_kind = {k: [case for case in GOLDEN if case["adapter"] == k] for k in kinds}
            used = chance.sample(range(REGISTERED), USED)
            asked = used[1:] * 3
            chance.shuffle(asked)

            def ask(i):
                case = chance.choice(of_kind[kinds[i % len(kinds)]])
                status, text = c.post("/v1/completions", json.dumps(
                    {"model": f"adapter-{i:04}", "prompt": case["prompt"], "temperature": 0, "max_tokens": 40}))
                self.assertEqual(status, 200, text)
                self.assertEqual(json.loads(text)["choices"][0]["text"], case["text"])

            ask(used[0])  # the first request allocates memory that belongs to no adapter
            worker = up.pid_of("worker")
            before = processes.resident_mb(worker)
            began = time.monotonic()
            over = threading.Event()

            def ask_always():
                """Keeps one adapter in use until all others have been served."""
                n = 0
                while not over.is_set():
                    ask(used[0])
                    n += 1
                return n

            with concurrent.futures.ThreadPoolExecutor(len(asked) + SLOTS) as pool:
                hot = [pool.submit(ask_always) for _ in range(SLOTS)]
                try:
                    list(pool.map(ask, asked))
                finally:
                    over.set()
                served = sum(h.result() for h in hot)
            whole = time.monotonic() - began
            state = c.asked("llm_engine/0", "get_state")
            self.assertLessEqual(state["adapter_slots_taken"], SLOTS)
            self.assertGreaterEqual(state["adapter_loads"], USED - SLOTS)
            self.assertEqual(state["kv_blocks_free"], state["kv_blocks"])
            # slots, host memory, and as much again for adapters being packed or freed
            allowed = (2 * (HOST_MB + SLOTS) + 32) * processes.MEMORY_FACTOR
            self.assertLess(processes.resident_mb(worker) - before, allowed)
            self.assertGreater(served, SLOTS)
            print(f"{len(asked) + served} requests for {USED} of {REGISTERED} adapters in {whole:.1f} s, "
                  f"{state['adapter_loads']} loads, {state['adapter_reads']} of them from disk")
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
