#!/usr/bin/env python3
"""Every model gives its golden outputs, over HTTP and across two processes."""
import cluster
from cluster import Cluster, ClusterTest
from fixtures import ALL_FIXTURES, Fixture


class Golden(ClusterTest):
    def serves_golden_outputs(self, env):
        fixtures = [Fixture(name) for name in ALL_FIXTURES]
        with Cluster(ALL_FIXTURES, env=env) as c:
            c.start()
            for fixture in fixtures:
                for rows in (1, 3, fixture.rows):
                    with self.subTest(model=fixture.name, rows=rows):
                        code, answer = c.infer(fixture.name, fixture.body(rows))
                        self.assertEqual(code, 200, answer)
                        self.assertLessEqual(fixture.distance(answer), 1e-4)
            self.assert_ledger_balances(c)
            self.assertGreater(c.metric("troupe_fabric_bytes_pulled_total"), 0)  # not all in one process

    def test_over_the_default_transport(self):
        self.serves_golden_outputs({})

    def test_over_tcp(self):
        self.serves_golden_outputs({"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"})

    def test_the_deferred_policy_leaves_a_lonely_request_enough_time(self):
        fixture = Fixture("mlp")  # its rows take microseconds: no slack between planned and latest start
        with Cluster(("mlp",), slo_ms=100, policy="") as c:
            c.start()
            for _ in range(20):  # a busy machine may be late sometimes
                code, answer = c.infer("mlp", fixture.body())
                if code == 200:
                    break
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(fixture.distance(answer), 1e-4)

    def test_the_comparison_notices_a_wrong_output(self):
        fixture = Fixture("mlp")
        answer = {"outputs": [{"name": "output", "shape": [1, 16], "data": list(fixture.output[:16])}]}
        self.assertEqual(fixture.distance(answer), 0)
        answer["outputs"][0]["data"][3] += 0.01
        self.assertGreater(fixture.distance(answer), 1e-4)


if __name__ == "__main__":
    cluster.main()
