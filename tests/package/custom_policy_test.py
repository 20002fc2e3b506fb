#!/usr/bin/env python3
"""examples/custom_policy in the way of its readers: built against an installed Troupe, checked, simulated, served
with.

    tests/package/custom_policy_test.py BUILD-FOLDER [test names]
"""
import json
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "end_to_end"))
import processes  # noqa: E402
from fixtures import ROOT  # noqa: E402
from processes import PATIENCE, Process, free_ports  # noqa: E402

BUILD = Path()


def run(*words, code=0):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == code, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


class CustomPolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="troupe-policy-")
        folder = Path(cls.temporary.name)
        run("cmake", "--install", BUILD, "--prefix", folder / "troupe")
        cls.troupe = folder / "troupe/bin/troupe"
        processes.PROGRAM = str(cls.troupe)
        cls.example = folder / "example"
        shutil.copytree(ROOT / "examples/custom_policy", cls.example, ignore=shutil.ignore_patterns("build"))
        run("cmake", "-S", cls.example, "-B", cls.example / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={folder / 'troupe'}")
        run("cmake", "--build", cls.example / "build")
        cls.file = cls.example / "cluster.toml"

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def variant(self, *changes):
        text = self.file.read_text()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        file = self.example / "variant.toml"
        file.write_text(text)
        return file

    def simulate(self, file):
        return json.loads(run(self.troupe, "simulate", file, "--workload", self.example / "workload.toml", "--json"))

    def test_its_own_test_passes(self):
        run("ctest", "--test-dir", self.example / "build")

    def test_check_knows_it_and_its_parameters(self):
        self.assertIn("ok", run(self.troupe, "check", self.file))
        self.assertIn("fraction = 0.5", run(self.troupe, "config", "dump", self.file))
        said = run(self.troupe, "check", self.variant(("fraction = 0.5", "fraction = 2")), code=2)
        self.assertIn("plugins.patience.fraction: must be a share of the slack in 0..1, not 2", said)
        said = run(self.troupe, "check", self.variant(('"patient"', '"impatient"')), code=2)
        self.assertIn('one of "deferred", "eager", "timeout", "clockwork", "nexus", "patient", not "impatient"; did you mean \'patient\'?', said)

    def test_a_plug_in_of_another_version_is_refused_by_name_of_both(self):
        library = self.example / "build/libpatience.so"
        other = self.example / "build/libother.so"
        version = run(self.troupe, "--version").strip().encode()
        at = library.read_bytes().index(b"troupe plug-in") + 24
        other.write_bytes(library.read_bytes()[:at] + b"7" + library.read_bytes()[at + 1:])
        said = run(self.troupe, "up", self.variant(("libpatience", "libother")), code=2)
        self.assertRegex(said, r"libother.so was built for Troupe 7\S+, this program has " + version.decode())

    def test_it_simulates_the_same_from_the_same_seed_and_waits_as_long_as_told(self):
        half, again = self.simulate(self.file), self.simulate(self.file)
        self.assertEqual(half, again)
        self.assertEqual(half["violations"], [])
        none, most = (self.simulate(self.variant(("fraction = 0.5", f"fraction = {f}"))) for f in (0, 1))
        for model in half["models"]:
            batches = [run["models"][model]["mean_batch"] for run in (none, half, most)]
            waits = [run["models"][model]["p50_ms"] for run in (none, half, most)]
            self.assertEqual(batches, sorted(batches))
            self.assertEqual(waits, sorted(waits))
            self.assertLess(batches[0] * 1.2, batches[2])

    def test_its_actor_takes_idle_slots_out_of_service_and_puts_them_back_under_load(self):
        ports = dict(zip(("7721", "7722", "8082"), map(str, free_ports(3))))
        file = self.variant(*ports.items(), ("fraction = 0.5", "fraction = 0"))  # eager: small batches, busy slots
        up = Process("up", str(file))
        try:
            up.wait_line("^troupe: ready")

            def states():
                document = json.loads(run(self.troupe, "ask", file, "rank_arbiter", "get_state"))
                return [s["state"] for s in document["slots"]]
            end = time.monotonic() + PATIENCE
            while states().count("out_of_service") < 2 and time.monotonic() < end:
                time.sleep(0.1)
            self.assertEqual(states().count("out_of_service"), 2)
            self.check_tally(file)
            load = subprocess.Popen([self.troupe, "load", f"http://127.0.0.1:{ports['8082']}", "--rate", "400",
                                     "--duration", "6"], stdout=subprocess.DEVNULL)
            while states().count("out_of_service") == 2 and load.poll() is None:
                time.sleep(0.1)
            self.assertLess(states().count("out_of_service"), 2)
            load.wait(PATIENCE)
            self.assertEqual(up.terminate(), 0, up.output())
        finally:
            up.kill()

    def check_tally(self, file):
        """The messages from the saver on one node to the tally on the other, and the tally's commands."""
        ask = (self.troupe, "ask", file, "extension/1")
        run(*ask, "get_savings", "--wait", "slots == 2", PATIENCE)
        run(*ask, "get_savings", "--wait", "slot_time > 0", PATIENCE)
        schema = json.loads(run(*ask, "--schema", "--json"))["extension/1"]
        self.assertEqual([f["name"] for f in schema["get_savings"]["reply"]], ["slots", "slot_time"])
        self.assertEqual(schema["get_savings"]["reply"][1]["unit"], "ns")
        self.assertIn("get_savings: slots out of service now, and the slot time saved so far", run(*ask, "--schema"))
        self.assertIn("get_savings.slot: unknown field", run(*ask, "get_savings", '{"slot": 1}', code=2))
        self.assertIn("there is no command 'get_saving'; the actor takes: get_savings", run(*ask, "get_saving", code=2))
        self.assertIn("takes no commands", run(self.troupe, "ask", file, "extension/0", "get_state", code=2))

    def test_it_serves_requests(self):
        ports = dict(zip(("7721", "7722", "8082"), map(str, free_ports(3))))
        file = self.variant(*ports.items())
        up = Process("up", str(file))
        try:
            up.wait_line("^troupe: ready")
            report = json.loads(run(self.troupe, "load", f"http://127.0.0.1:{ports['8082']}", "--rate", 40, "--duration",
                                    4, "--json"))
            with urllib.request.urlopen(f"http://127.0.0.1:{ports['8082']}/metrics", timeout=PATIENCE) as answer:
                self.assertIn("patience_slots_spared", answer.read().decode())
            text = json.dumps(report)
            self.assertRegex(text, '"finished": ?[1-9]', text)
            self.assertEqual(up.terminate(), 0, up.output())
        finally:
            up.kill()


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
