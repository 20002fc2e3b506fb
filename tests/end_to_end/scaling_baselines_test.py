#!/usr/bin/env python3
"""The policies that BlitzScale is compared with: where the weights of new instances come from, and which are kept. Real
processes, real weights, every stream compared token by token."""
import cluster
from cluster import ClusterTest
from processes import eventually, run
from scaling_cluster import WORKERS, parameters, scale, scaling, stages
from streams import Streams


class Baselines(ClusterTest):
    def serve(self, c, instances):
        """Scales the model while streams run; the answer of the order."""
        with Streams(c) as streams:
            streams.more()
            done = scale(c, instances)
            streams.more()
        self.assertEqual(streams.wrong, [])
        self.assertGreater(streams.right, 0)
        return done

    def holders(self, c):
        return sorted(copy["node"] for copy in parameters(c)["copies"] if copy["ready"] == copy["chunks"] > 0)

    def test_serverless_reads_disks_and_keeps_weights_for_a_time_after_the_last_request(self):
        with scaling(table="policy = \"serverless\"\nkeep_s = 10\npark_s = 0") as c:
            c.start()
            self.assertEqual(self.serve(c, 3)["pulled_bytes"], 0)
            self.assertEqual(self.holders(c), sorted(WORKERS))
            scale(c, 1)
            self.assertEqual(len(self.holders(c)), 3)  # kept without an instance
            self.assertTrue(eventually(lambda: len(self.holders(c)) == 1))
            self.assertEqual(stages(c).count("serving"), 1)
            self.assertEqual(self.serve(c, 2)["pulled_bytes"], 0)

    def test_all_cache_has_the_weights_everywhere_before_they_are_wanted(self):
        with scaling(table="policy = \"all_cache\"") as c:
            c.start()
            self.assertTrue(eventually(lambda: self.holders(c) == sorted(WORKERS)))
            self.assertEqual(self.serve(c, 3)["pulled_bytes"], 0)
            self.serve(c, 1)
            self.assertEqual(self.holders(c), sorted(WORKERS))

    def test_without_chains_every_node_pulls_from_one_that_has_all(self):
        with scaling(table="policy = \"blitz_network\"") as c:
            c.start()
            (copy,) = parameters(c)["copies"]
            self.assertEqual(scale(c, 3, "--dry-run")["chains"],
                             [["tasks/0@first", "tasks/1@second"], ["tasks/0@first", "tasks/2@third"]])
            self.assertEqual(self.serve(c, 3)["pulled_bytes"], 2 * copy["bytes"])

    def test_static_clusters_have_a_fixed_number_of_instances(self):
        with scaling(table="policy = \"static_half\"") as c:
            c.start()
            self.assertTrue(eventually(lambda: stages(c).count("serving") == 2))
            code, out, err = run("scale", c.file, "tasks", "--instances", 1)
            self.assertEqual(code, 2, out + err)
            self.assertIn("2 to 2 instances", err)


if __name__ == "__main__":
    cluster.main()
