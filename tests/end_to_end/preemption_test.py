#!/usr/bin/env python3
"""Shepherd in a real cluster: a long batch is preempted by larger ones, and its request is answered nevertheless."""
import concurrent.futures
import json
import time

import cluster
from cluster import Cluster, ClusterTest

# One emulated slot. A batch of `long` takes 300 ms, one of `many` at most 36 ms.
MODELS = "".join(f"""[[model]]
name = "{name}"
slo_ms = 5000
profile = {{ alpha_ms = {alpha}, beta_ms = {beta} }}
max_batch = 16
input_bytes = 16
output_bytes = 16
""" for name, alpha, beta in (("long", 100, 200), ("many", 1, 20)))
POLICY = """batching = "eager"
shedding = "timeout"
matchmaking = "shepherd\""""
BODY = json.dumps({"inputs": [{"name": "input", "datatype": "UINT8", "shape": [1, 16], "data": [7] * 16}]})


class Preemption(ClusterTest):
    def test_a_long_batch_gives_way_and_runs_again(self):
        with Cluster(model_text=MODELS, device='kind = "emulated"', policy=POLICY) as c:
            c.start()

            def infer(model):
                status, _, text = c.ask("POST", f"/v2/models/{model}/infer", BODY)
                return status, text

            began = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(9) as pool:
                for _ in range(5):
                    long = pool.submit(infer, "long")
                    time.sleep(0.1)  # it runs
                    many = [pool.submit(infer, "many") for _ in range(8)]
                    for answer in (long, *many):
                        self.assertEqual(answer.result()[0], 200, answer.result()[1])
            self.assertLess(time.monotonic() - began, 30)
            preempted = c.metric("troupe_orders_preempted_total")
            self.assertGreater(preempted, 0)
            self.assertEqual(c.metric_of("worker", "troupe_worker_refusals_total"), preempted)
            self.assertGreater(c.metric_of("worker", "troupe_worker_preempted_seconds_total"), 0)
            self.assertEqual(c.metric("troupe_queue_resubmitted_total"), 0)
            self.assertEqual(c.metric("troupe_ledger_balanced"), 1)
            self.assertEqual(c.metric("troupe_requests_finished_total"), 45)


if __name__ == "__main__":
    cluster.main()
