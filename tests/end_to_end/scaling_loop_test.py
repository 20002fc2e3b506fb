#!/usr/bin/env python3
"""A language model gets the instances that its load needs, unaided. Real processes, real weights, every stream compared
token by token.

    tests/end_to_end/scaling_loop_test.py build/release/troupe
"""
import json

import cluster
from cluster import ClusterTest
from processes import SLOWDOWN, eventually, run
from scaling_cluster import scaling, stages
from streams import Streams


def with_loop(mode):
    """An instance has 16 places for sequences: five to eight of them are to be taken."""
    return scaling(f"""min_instances = 1
[llm.scaling]
mode = "{mode}"
decode_low = 0.3
decode_high = 0.5
scale_down_s = {SLOWDOWN}""")


def serving(c, n):
    return eventually(lambda: stages(c).count("serving") == n)


class ScalingLoop(ClusterTest):
    def decisions(self, c):
        """The oldest first."""
        code, out, err = run("why", c.file, "--scale", 100, "--json")
        self.assertEqual(code, 0, out + err)
        return json.loads(out)["decisions"][::-1]

    def test_instances_come_with_the_load_and_go_with_it_and_no_stream_notices(self):
        with with_loop("apply") as c:
            c.start()
            with Streams(c, clients=3) as few:
                few.more()
            self.assertEqual(self.decisions(c), [])
            self.assertEqual(stages(c).count("serving"), 1)
            with Streams(c, clients=24) as many:
                self.assertTrue(serving(c, 3), stages(c))
                many.more(24)
                self.assertEqual(c.status()["scaling"],
                                 [{"model": "tasks", "wanted": 3, "wants_more": False, "applied": True}])
            self.assertTrue(serving(c, 1), stages(c))
            self.assertEqual(few.wrong + many.wrong, [])
            made = self.decisions(c)
            more = [d for d in made if d["to"] > d["from"]]
            self.assertEqual(made[:len(more)], more, "an instance came after one had gone")
            self.assertEqual(more[-1]["to"], 3)
            self.assertEqual({d["reason"] for d in more}, {"above"})
            self.assertTrue(more[0]["plan"]["starts"] and more[0]["plan"]["chains"], more[0])
            self.assertEqual([(d["from"], d["to"], d["reason"]) for d in made[len(more):]], [(3, 2, "below"), (2, 1, "below")])
            code, out, _ = run("why", c.file, "--scale", 1)
            self.assertEqual(code, 0)
            self.assertRegex(out, r"(?s)tasks  2 -> 1  below: the load needs 1 to 1\n.*sequences 0, an instance has 16")
            self.assertEqual(c.metric("troupe_llm_ledger_balanced"), 1)

    def test_an_operators_number_holds_until_the_load_asks_for_another(self):
        with with_loop("apply") as c:
            c.start()
            code, out, err = run("scale", c.file, "tasks", "--instances", 2, "--wait", 0)
            self.assertEqual(code, 0, out + err)
            self.assertTrue(eventually(lambda: self.decisions(c)))
            self.assertTrue(serving(c, 1), stages(c))
            self.assertEqual([(d["from"], d["to"]) for d in self.decisions(c)], [(2, 1)])

    def test_advice_changes_nothing(self):
        with with_loop("advise") as c:
            c.start()
            with Streams(c, clients=24) as streams:
                self.assertTrue(eventually(lambda: c.status()["scaling"][0]["wanted"] == 3))
                streams.more()
            self.assertEqual(streams.wrong, [])
            self.assertEqual(stages(c), ["serving", "idle", "idle"])
            self.assertFalse(any(d["applied"] for d in self.decisions(c)))

    def test_why_needs_a_loop_and_one_question(self):
        with scaling() as c:
            for arguments, words in ((("--scale", 3), "give an \\[\\[llm\\]\\] an \\[llm.scaling\\]"),
                                     ((), "Exactly 1 option from \\[request,--scale\\] is required"),
                                     (("17", "--scale", 3), "and 2 were given")):
                code, out, err = run("why", c.file, *arguments)
                self.assertEqual(code, 2, out + err)
                self.assertRegex(err, words)


if __name__ == "__main__":
    cluster.main()
