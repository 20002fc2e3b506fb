#!/usr/bin/env python3
"""tools/seeds: the seeds that it runs, and its report of a failing one. The program is a stub."""
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


class Seeds(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="troupe test ")  # its name has spaces
        self.addCleanup(self.temporary.cleanup)
        self.log = Path(self.temporary.name, "log")

    def run_seeds(self, first, last, fails, code=1):
        stub = Path(self.temporary.name, "troupe")
        stub.write_text(STUB.format(log=self.log, fails=fails, code=code))
        stub.chmod(0o755)
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

    def test_files_that_are_wrong_stop_it(self):
        done = self.run_seeds(1, 500, fails=1, code=2)
        self.assertEqual(done.returncode, 1)
        self.assertLess(len(self.seen()), 500)


if __name__ == "__main__":
    unittest.main(verbosity=2)
