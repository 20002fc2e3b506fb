#!/usr/bin/env python3
"""tools/transfer_totals: sums, and kinds of faults that hit too few transfers."""
import subprocess
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/transfer_totals"


def totals(lines, *options):
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run([TOOL, *options], input=text, capture_output=True, text=True, timeout=60)


class TransferTotals(unittest.TestCase):
    def test_hits_are_added_up(self):
        done = totals(["seed 1: delay 3 stall 0", "seed 2: delay 4 stall 1"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "transfers of weights hit in 2 runs: delay 7, stall 1\n")

    def test_many_runs_that_hit_too_few_fail(self):
        runs = [f"seed {seed}: delay 3 stall {int(seed < 49)}" for seed in range(2000)]
        done = totals(runs)
        self.assertEqual(done.returncode, 1)
        self.assertIn("fewer than 50 transfers: stall", done.stderr)
        self.assertEqual(totals(runs[:-1]).returncode, 0)
        self.assertEqual(totals(runs, "--at-least", "49").returncode, 0)
        self.assertEqual(totals(runs[:100], "--seeds", "100").returncode, 1)

    def test_a_malformed_line_fails(self):
        self.assertNotEqual(totals(["seed 1: delay"]).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
