#!/usr/bin/env python3
"""tools/seeds: the seeds that it runs, and its report of a failing one. The programs are stubs."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUB = """#!/usr/bin/env bash
echo "$*" >>"{log}"  # at once: others write, too
for last; do :; done
[[ $last == {fails} ]] || exit 0
echo "invariant broken: a request has two outcomes" >&2
exit {code}
"""
STORM = """#!/usr/bin/env bash
echo "seed $1: stall 2 cut $1"
[[ $2 != {fails} ]] || {{ echo "invariant broken: a copy is lost" >&2; exit 1; }}
"""


class Seeds(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="troupe test ")  # its name has spaces
        self.addCleanup(self.temporary.cleanup)
        self.log = Path(self.temporary.name, "log")

    def run_seeds(self, first, last, fails, code=1, storm_fails="none"):
        stub = Path(self.temporary.name, "troupe")
        storm = Path(self.temporary.name, "scaling_storm")
        stub.write_text(STUB.format(log=self.log, fails=fails, code=code))
        storm.write_text(STORM.format(fails=storm_fails))
        for program in stub, storm:
            program.chmod(0o755)
        return subprocess.run([ROOT / "tools/seeds", str(first), str(last)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TROUPE": str(stub)})

    def seen(self):
        return self.log.read_text().splitlines()

    def test_every_seed_is_run_once(self):
        done = self.run_seeds(4, 9, fails="none")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("seeds 4 to 9: all passed", done.stdout)
        self.assertEqual(sorted(int(line.split()[-1]) for line in self.seen()), [4, 5, 6, 7, 8, 9])

    def test_a_seed_that_fails_is_printed_with_the_command_that_replays_it(self):
        done = self.run_seeds(1, 5, fails=3)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("some failed", done.stdout)
        self.assertIn("invariant broken: a request has two outcomes", done.stderr)
        (replay,) = re.findall(r"^seed 3 failed \(exit code 1\)\. Replay it with: (.+)$", done.stderr, re.MULTILINE)
        self.assertEqual(len(re.findall("Replay it", done.stderr)), 1)
        (before,) = [line for line in self.seen() if line.split()[-1] == "3"]
        self.assertEqual(len(self.seen()), 5)
        again = subprocess.run(["bash", "-c", replay], capture_output=True, text=True, cwd=ROOT, timeout=60)
        self.assertEqual(again.returncode, 1)
        self.assertEqual(self.seen()[5:], [before])

    def test_scaling_models_run_with_every_seed_and_the_transfers_that_were_hit_are_added_up(self):
        done = self.run_seeds(4, 9, fails="none")
        self.assertIn("transfers of weights hit in 6 runs: stall 12, cut 39", done.stdout)

    def test_a_failing_run_of_scaling_models_is_printed(self):
        done = self.run_seeds(1, 3, fails="none", storm_fails=2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("invariant broken: a copy is lost", done.stderr)
        self.assertRegex(done.stderr, r"seed 2 failed \(exit code 1\)\. Replay it with: .*scaling_storm 2 2")
        self.assertEqual(done.stderr.count("Replay it"), 1)

    def test_files_that_are_wrong_stop_it(self):
        done = self.run_seeds(1, 500, fails=1, code=2)
        self.assertEqual(done.returncode, 1)
        self.assertLess(len(self.seen()), 500)


if __name__ == "__main__":
    unittest.main(verbosity=2)
