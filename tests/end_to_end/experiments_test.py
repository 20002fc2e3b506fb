#!/usr/bin/env python3
"""`troupe goodput` and `troupe experiment` as users run them; the direction of every result of the papers."""
import csv
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import cluster
from processes import PATIENCE, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/experiments"
FIGURES = ["blitz-figure5", "blitz-figure10", "blitz-figure18", "blitz-table1", "blitz-table1-appendix", "figure1",
           "figure2", "figure5", "figure6a", "figure6b", "figure7", "figure9", "figure10", "figure11", "figure12",
           "figure13", "figure13-scheduler", "figure14", "figure15", "figure16", "punica-figure1", "punica-figure8",
           "punica-figure9", "punica-figure11", "punica-figure13", "table2"]


class Goodput(unittest.TestCase):
    def goodput(self, scenario, *options):
        code, out, err = run("goodput", EXAMPLES / f"{scenario}.toml", "--json", *options, patience=5 * PATIENCE)  # it computes
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_deferred_serves_more_than_the_paper_measured_and_than_eager(self):
        for scenario, goal in (("table2-resnet50", 5500), ("table2-inceptionresnetv2", 975)):
            with self.subTest(scenario):
                deferred = self.goodput(scenario, "--policy", "deferred", "--first-seed", 1001)
                eager = self.goodput(scenario, "--policy", "eager", "--requests", 50000, "--seeds", 2)
                self.assertGreaterEqual(deferred["goodput_rps"], goal)
                self.assertGreater(deferred["goodput_rps"], 1.05 * eager["goodput_rps"])
                self.assertLessEqual(deferred["bad_rate"], 0.01)
                self.assertGreater(deferred["mean_batch"], eager["mean_batch"])
                self.assertLess(deferred["gpu_busy"], 1)
                self.assertEqual([x["seed"] for x in deferred["per_seed"]], list(range(1001, 1009)))
                self.assertGreater(deferred["ci95"], 0)

    def test_the_same_seeds_give_the_same_results_on_any_number_of_cores(self):
        few = ("--requests", 20000, "--seeds", 3)
        self.assertEqual(self.goodput("table2-resnet50", *few, "--jobs", 1),
                         self.goodput("table2-resnet50", *few, "--jobs", 3))

    def test_both_engines_find_the_same(self):
        few = ("--requests", 5000, "--seeds", 1, "--precision", 0.01)
        direct, actors = (self.goodput("table2-resnet50", *few, "--engine", e) for e in ("direct", "actors"))
        self.assertAlmostEqual(direct["goodput_rps"] / actors["goodput_rps"], 1, delta=0.02)

    def test_a_policy_is_told_with_its_parts(self):
        few = ("--requests", 2000, "--seeds", 1, "--rate", 100)
        document = self.goodput("table2-resnet50", *few, "--policy", "shepherd", "--batching", "deferred")
        self.assertEqual([document[x] for x in ("policy", "batching", "shedding", "matchmaking")],
                         ["shepherd", "deferred", "timeout", "shepherd"])
        _, table, _ = run("goodput", EXAMPLES / "table2-resnet50.toml", *few, "--policy", "nexus")
        self.assertTrue(table.startswith("batching nexus, shedding window, matchmaking nexus\n"), table)

    def test_one_seed_says_nothing_of_its_error(self):
        few = ("--requests", 2000, "--precision", 0.05)
        self.assertIsNone(self.goodput("table2-resnet50", *few, "--seeds", 1)["ci95"])
        two = self.goodput("table2-resnet50", *few, "--seeds", 2)
        self.assertGreater(two["ci95"], 0.049 * two["goodput_rps"])
        _, table, _ = run("goodput", EXAMPLES / "table2-resnet50.toml", *few, "--seeds", 1)
        self.assertTrue(table.endswith("requests a second, one seed\n"), table)

    def test_a_duration_is_that_of_the_rate_that_is_asked_for(self):
        at = ("table2-resnet50", "--rate", 100, "--seeds", 1)
        self.assertEqual(self.goodput(*at, "--duration", 20), self.goodput(*at, "--requests", 2000))

    def test_where_nothing_is_served_a_word_says_so(self):
        scenario = EXAMPLES / "table2-resnet50.toml"
        with tempfile.TemporaryDirectory() as folder:
            tight = Path(folder, "tight.toml")  # too tight for Clockwork, which plans 5 ms ahead and serves nothing
            tight.write_text(scenario.read_text().replace("slo_ms = 25", "slo_ms = 7"))
            code, out, err = run("goodput", tight, "--policy", "clockwork", "--requests", 500, "--seeds", 1, "--json")
            self.assertEqual((code, json.loads(out)["goodput_rps"]), (1, 0))
            self.assertEqual(err, "troupe goodput: no rate has at most 1 % bad\n")

    def test_a_number_that_makes_no_sense_is_refused_with_its_range(self):
        scenario = EXAMPLES / "table2-resnet50.toml"
        for command, option, values in ((("goodput", scenario), "--rate", ("nan", "inf", 0, 1e12)),
                                        (("goodput", scenario), "--duration", ("nan", 0, "1e7")),
                                        (("goodput", scenario), "--bad", ("nan", 0.6)),
                                        (("goodput", scenario), "--precision", ("nan", 0)),
                                        (("goodput", scenario), "--first-seed", (-1,)),
                                        (("bench", "schedule"), "--rate", ("nan", 0)),
                                        (("bench", "schedule"), "--slo-ms", ("nan", 0)),
                                        (("bench", "schedule"), "--alpha-ms", ("nan", 0)),
                                        (("bench", "schedule"), "--gpus", (99999999, 0, -1)),
                                        (("bench", "serve"), "--rate", ("nan",)),
                                        (("load", "http://127.0.0.1:1"), "--rate", ("nan", "inf", 0)),
                                        (("load", "http://127.0.0.1:1"), "--cv", ("nan", 0)),
                                        (("load", "http://127.0.0.1:1"), "--duration", ("nan", "inf")),
                                        (("load", "http://127.0.0.1:1"), "--slo-ms", ("nan", -1)),
                                        (("up", "nowhere.toml"), "--clock-offset-ms", ("nan", "inf"))):
            for value in values:
                with self.subTest(command=command[0], option=option, value=value):
                    code, out, err = run(*command, option, value)
                    self.assertEqual((code, out), (2, ""), err)
                    self.assertRegex(err, rf"^{option}: must be a (whole )?number in \S+\.\.\S+, not {value}\n")

    def test_bad_input_is_named_with_its_place(self):
        def refused(*arguments):
            code, out, err = run(*arguments)
            self.assertEqual((code, out), (2, ""), err)
            self.assertLess(len(err.splitlines()), 3, err)
            return err

        scenario = EXAMPLES / "table2-resnet50.toml"
        self.assertIn("did you mean 'eager'?", refused("goodput", scenario, "--policy", "eagr"))
        self.assertIn("/nowhere.toml", refused("goodput", "/nowhere.toml"))
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder, "bad.toml")
            bad.write_text(scenario.read_text().replace("slo_ms = 25", "slo_ms = 6"))
            line = 1 + scenario.read_text().split("slo_ms")[0].count("\n")
            self.assertIn(f"{bad}:{line}:10: model.slo_ms: ", refused("goodput", bad))
            bad.write_text(scenario.read_text().replace("gpus", "gpuz"))
            self.assertIn(f"{bad}:7:1: unknown key 'gpuz'; did you mean 'gpus'?", refused("goodput", bad))
            bad.write_text((EXAMPLES / "figure13.toml").read_text().replace('"eager"', '"egaer"'))
            self.assertRegex(refused("experiment", "run", bad), rf"{bad}:\d+:12: experiment.policies: unknown policy")
        self.assertIn("use timeout(30%)", refused("goodput", scenario, "--policy", "timeout(k)"))
        self.assertIn("there are lowest_id, ", refused("goodput", scenario, "--matchmaking", "x"))
        self.assertIn("Nexus is a batching and a matchmaking policy", refused("goodput", scenario, "--policy", "nexus", "--batching", "eager"))
        self.assertIn("table2.toml:5:", refused("goodput", EXAMPLES / "table2.toml"))
        self.assertIn("run it with troupe experiment run", refused("goodput", EXAMPLES / "table2.toml"))
        self.assertIn("--requests has no effect", refused("goodput", EXAMPLES / "figure15.toml", "--requests", 1000))
        self.assertIn("the warm-up of 2 s", refused("goodput", scenario, "--rate", 1e9))
        self.assertIn("give at most", refused("goodput", scenario, "--duration", 1e6))
        self.assertIn("excludes", refused("experiment", "run", "figure7", "--quick", "--full", "--folder", EXAMPLES))
        self.assertIn("did you mean 'figure6a'?", refused("experiment", "run", "figur6a", "--folder", EXAMPLES))


class Experiments(unittest.TestCase):
    def test_all_are_listed(self):
        code, out, err = run("experiment", "list", "--folder", EXAMPLES, "--json")
        self.assertEqual(code, 0, err)
        listed = [x["name"] for x in json.loads(out)["experiments"]]
        self.assertLessEqual(set(FIGURES), set(listed))

    def test_a_quick_run_of_every_experiment_keeps_the_direction_of_the_paper(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run("experiment", "run", *FIGURES, "--quick", "--folder", EXAMPLES, "--output", folder,
                                 patience=8 * PATIENCE)
            self.assertEqual(code, 0, out + err)
            for name in FIGURES:
                document = json.loads(Path(folder, f"{name}.json").read_text())
                self.assertTrue(document["points"], name)
                self.assertTrue(document["says"] and document["differs"], name)
                for claim in document["claims"]:
                    self.assertTrue(claim["matches_claim"], claim)
                with Path(folder, f"{name}.csv").open() as lines:
                    self.assertEqual(len(list(csv.DictReader(lines))), len(document["points"]))
                if shutil.which("gnuplot"):
                    self.assertTrue(Path(folder, f"{name}.png").read_bytes().startswith(b"\x89PNG"), name)
                    self.assertIn("</svg>", Path(folder, f"{name}.svg").read_text())

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_results_are_drawn_again(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ("figure5", "--folder", EXAMPLES, "--output", folder)
            self.assertEqual(run("experiment", "plot", *options)[0], 1)
            self.assertEqual(run("experiment", "run", *options, "--no-plot")[0], 0)
            self.assertFalse(Path(folder, "figure5.png").exists())
            self.assertEqual(run("experiment", "plot", *options)[0], 0)
            self.assertTrue(Path(folder, "figure5.png").exists())


if __name__ == "__main__":
    cluster.main()
