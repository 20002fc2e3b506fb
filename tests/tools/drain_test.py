#!/usr/bin/env python3
"""SIGTERM under load: whoever was accepted is answered, whoever comes later is told so."""
import time

import cluster
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE


class Drain(ClusterTest):
    def test_a_drained_cluster_loses_no_request(self):
        fixture = Fixture("mlp")
        # The deferred policy waits for a full batch of 16 as long as the SLO and the margin (for a busy machine)
        # allow: 12 clients keep 12 requests in flight, and they wait together.
        policy = 'batching = "deferred"\nmargin_us = 1000000\nnetwork_control_us = 1000000'
        with Cluster(("mlp",), slo_ms=4500, policy=policy,
                     limits="drain_timeout_ms = 60000\nnode_timeout_ms = 20000") as c:
            up = c.start()
            with Load(c, [fixture], clients=12) as load:
                load.wait_finished(24)
                end = time.monotonic() + PATIENCE
                while True:
                    looked_at = time.monotonic()
                    # soon after the last batch: the next one will not run before the signal comes
                    fresh = looked_at - load.finished_at()[-1] < 0.3
                    if c.metric("troupe_requests_in_flight") == 12 and fresh:
                        break
                    self.assertLess(looked_at, end, "the clients never wait all at once")
                    time.sleep(0.02)
                stopped_at = time.monotonic()
                self.assertEqual(up.terminate(), 0, up.output())
                time.sleep(0.5)  # some more, to a closed door
            self.assertTrue(all(right for *_, right in load.results))
            in_flight = late = 0
            for began, took, status, reason, _ in load.results:
                if began + took < stopped_at:
                    continue
                if began < looked_at:  # surely accepted before the signal
                    self.assertEqual(status, 200, reason)
                    in_flight += 1
                elif status != 200:
                    late += 1
                    self.assertIn(status, (503, ConnectionRefusedError, ConnectionResetError, BrokenPipeError), reason)
            self.assertGreater(in_flight, 0, "nothing was in flight: the test proves nothing")
            self.assertGreater(late, 0)


if __name__ == "__main__":
    cluster.main()
