#!/usr/bin/env python3
"""The runner of tools/gpu_check, without a GPU: gpu_check_test.py BUILD-FOLDER PYTHON [test names]

The whole list runs against the emulated machine. Failures and hangs are planted with lists of their own."""
import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tools/gpu/run.py"
BUILD, PYTHON = Path(), ""

sys.path.insert(0, str(ROOT / "tools/gpu"))
import bundle  # noqa: E402
import check_bundle  # noqa: E402
import checks  # noqa: E402
import document  # noqa: E402
import failures  # noqa: E402
import libraries  # noqa: E402

PLANTED = "{planted_kernel_failure}"


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="troupe-gpu-check-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_list(self, *options, entries=None, code=0):
        """The report of a dry run, by section/name."""
        words = [RUN, "--dry", "--build", BUILD, "--out", self.folder, *options]
        if entries is not None:
            file = self.folder / "checks.json"
            file.write_text(json.dumps([{"command": [], "limit_s": 60, **e} for e in entries]))
            words += ["--checks", file]
        done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.document = json.loads((self.folder / "report.json").read_text())
        self.markdown = (self.folder / "report.md").read_text()
        return {f"{r['section']}/{r['name']}": r for r in self.document["checks"]}

    def test_every_section_runs_against_the_emulated_machine_or_says_why_not(self):
        record = [PYTHON, ROOT / "tests/gpu/onnx/onnxruntime_test.py", "--record", BUILD / "random_models.bin", "--seed", "1"]
        subprocess.run(list(map(str, record)), check=True)
        results = self.run_list()
        self.assertEqual(set(results), {f"{c.section}/{c.name}" for c in checks.CHECKS})
        for c in checks.CHECKS:
            with self.subTest(f"{c.section}/{c.name}"):
                result = results[f"{c.section}/{c.name}"]
                self.assertEqual(result["state"], "passed" if c.dry else "left out", result)
                if not c.dry:
                    self.assertEqual(result["why"], c.dry_left_out)
                    self.assertTrue(c.dry_left_out)
        self.assertIn("against the emulated machine", self.markdown)

    def test_a_failure_is_reported_with_its_first_wrong_element_and_the_rest_goes_on(self):
        results = self.run_list(code=1, entries=[
            {"section": "a", "name": "wrong", "dry": [PLANTED]},
            {"section": "b", "name": "right", "dry": ["true"]}])
        self.assertEqual(results["a/wrong"]["state"], "failed")
        failure = results["a/wrong"]["failure"]
        self.assertEqual(failure["test"], "a kernel that leaves out its last row")
        self.assertEqual((failure["element"], failure["expected"], failure["found"]), ("48", "1.5", "nan"))
        self.assertIn("width := 16", failure["logged"])
        self.assertIn("seed := 7", failure["logged"])
        self.assertIn("first wrong element: 48, expected 1.5, found nan (16 of 64 wrong)", self.markdown)
        self.assertIn("leaves out its last row", (self.folder / results["a/wrong"]["log"]).read_text())
        self.assertEqual(results["b/right"]["state"], "passed")

    def test_a_process_that_hangs_is_ended_at_its_limit_with_all_that_it_started(self):
        script = "trap '' TERM; sleep 1000 & echo $! > child; wait"
        began = time.monotonic()
        results = self.run_list(code=1, entries=[
            {"section": "a", "name": "hangs", "dry": ["sh", "-c", script.replace("child", str(self.folder / "child"))],
             "limit_s": 1},
            {"section": "b", "name": "right", "dry": ["true"]}])
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(results["a/hangs"]["state"], "timed out")
        self.assertEqual(results["a/hangs"]["why"], "ended at its limit of 1 s")
        self.assertEqual(results["b/right"]["state"], "passed")
        child = Path("/proc", (self.folder / "child").read_text().strip(), "stat")
        self.assertTrue(not child.exists() or " Z " in child.read_text())

    def test_resume_repeats_what_did_not_pass_and_nothing_else(self):
        count = f"echo >> {self.folder}/runs-%s"
        entries = [{"section": "a", "name": "passes", "dry": ["sh", "-c", count % "passes"]},
                   {"section": "a", "name": "fails once",
                    "dry": ["sh", "-c", (count % "fails") + f"; [ $(wc -l < {self.folder}/runs-fails) = 2 ]"]}]
        self.run_list(code=1, entries=entries)
        results = self.run_list("--resume", entries=entries)
        self.assertEqual({r["state"] for r in results.values()}, {"passed"})
        self.assertEqual((self.folder / "runs-passes").read_text(), "\n")
        self.assertEqual((self.folder / "runs-fails").read_text(), "\n\n")

    def test_results_of_other_programs_are_not_resumed(self):
        entries = [{"section": "a", "name": "passes", "dry": ["true"]}]
        self.run_list(entries=entries)
        report = self.folder / "report.json"
        report.write_text(json.dumps({**json.loads(report.read_text()), "version": "0.0.1"}))
        done = subprocess.run([RUN, "--dry", "--build", BUILD, "--out", self.folder, "--resume"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "is of another run: version 0.0.1, now of the sources; choose another --out")

    def test_no_check_begins_after_the_minutes(self):
        entries = [{"section": "a", "name": "long", "dry": ["sleep", "1000"]},
                   {"section": "a", "name": "later", "dry": ["true"]}]
        results = self.run_list("--minutes", "0.02", code=3, entries=entries)
        self.assertEqual(results["a/long"]["state"], "not run")
        self.assertRegex(results["a/long"]["why"], "0.02 minutes were over; see --resume")
        self.assertEqual(results["a/later"]["state"], "not run")

    def test_sections_and_names_are_chosen_with_wildcards(self):
        entries = [{"section": s, "name": n, "dry": ["true"]} for s in ("a", "b") for n in ("one", "two")]
        self.assertEqual(set(self.run_list("--only", "a", "--only", "b/t*", "--skip", "a/one", entries=entries)),
                         {"a/two", "b/two"})
        done = subprocess.run([RUN, "--only", "kernel"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "no check is called 'kernel'; sections: kernels, decoder")

    def test_a_check_that_ran_nothing_has_not_passed(self):
        results = self.run_list(code=1, entries=[
            {"section": "a", "name": "no such test", "dry": [PLANTED, "--test-case=nothing"]},
            {"section": "a", "name": "no program", "dry": ["{gpu_testz}"]}])
        self.assertEqual(results["a/no such test"]["why"], "no test case has that name")
        self.assertEqual(results["a/no program"]["state"], "left out")
        self.assertRegex(results["a/no program"]["why"], "there is no .*gpu_testz")

    def test_figures_are_in_the_report_beside_their_targets(self):
        rows = [{"op": "lora", "shape": "r16", "us": 4.0, "share": 0.5, "target_us": 3.5},
                {"op": "attention", "shape": "32", "us": 60, "share": 0.9, "target_us": 67}]
        self.run_list(entries=[{"section": "speed", "name": "x", "dry": ["echo", json.dumps(rows)], "figures": True}])
        self.assertIn("| lora | r16 | 4.00 | 50 % | 3.5 **missed** |", self.markdown)
        self.assertIn("| attention | 32 | 60.00 | 90 % | 67.0 met |", self.markdown)
        self.run_list(code=1, entries=[{"section": "speed", "name": "x", "dry": ["echo", "none"], "figures": True}])


class List(unittest.TestCase):
    def test_every_section_fits_into_its_time(self):
        for section in checks.SECTIONS:
            limits = [c.limit_s for c in checks.CHECKS if c.section == section]
            self.assertTrue(limits, section)
            self.assertLessEqual(sum(limits), checks.MAX_SECTION_S, section)

    def test_sections_are_in_order_and_names_are_unique(self):
        self.assertEqual(list(dict.fromkeys(c.section for c in checks.CHECKS)), list(checks.SECTIONS))
        self.assertEqual(len({(c.section, c.name) for c in checks.CHECKS}), len(checks.CHECKS))


class Failures(unittest.TestCase):
    def test_an_exception_of_a_test_is_a_failure(self):
        text = """TEST CASE:  a kernel
/x/y_test.cpp:12: ERROR: test case THREW exception: a kernel: an illegal address (cudaErrorIllegalAddress)

===============================================================================
"""
        self.assertEqual(failures.first_failure(text)["test"], "a kernel")
        self.assertRegex(failures.first_failure(text)["what"], "THREW exception: a kernel: an illegal")

    def test_the_last_lines_stand_for_a_program_that_says_no_more(self):
        lines = [f"line {i}" for i in range(100)]
        self.assertEqual(failures.first_failure("\n".join(lines))["what"].splitlines(), lines[-failures.LAST_LINES:])

    def test_a_test_that_skips_itself_did_not_run(self):
        text = "x.cpp:9: MESSAGE: not run: there is no GPU\n[doctest] test cases: 1 | 1 passed | 0 failed | 3 skipped\n"
        self.assertRegex(failures.ran_nothing(text), "not run: there is no GPU")


class Libraries(unittest.TestCase):
    def test_what_is_missing_or_old_is_named(self):
        self.assertRegex(libraries.problem("cudnn", {}), "there is no libcudnn.so.9: install the CUDA toolkit 13")
        old = {"cudnn": {"path": "/a/libcudnn.so.9", "version": "9.5.0"}}
        self.assertIsNone(libraries.problem("cudnn", old))
        self.assertRegex(libraries.remark("cudnn", old, "9.19.0"), "version 9.5.0, older than 9.19.0")
        self.assertIsNone(libraries.remark("cudnn", old, "9.4.1"))
        self.assertEqual(libraries.version_text(91900), "9.19.0")


class Bundle(unittest.TestCase):
    def test_programs_start_with_nothing_but_their_libraries_and_glibc(self):
        with tempfile.TemporaryDirectory(prefix="troupe-bundle-") as folder:
            root = Path(folder)
            bundle.fill(root / "gpu_check", [bundle.Files(BUILD).path(n) for n in ("troupe", "planted_kernel_failure")])
            mounts = check_bundle.empty_root(root, False)
            self.assertEqual(mounts, [])
            if check_bundle.start(root, mounts, ["/gpu_check/bin/troupe", "--version"])[1].startswith("unshare: "):
                self.skipTest("this machine does not let us make a root of our own")
            manifest = json.loads((root / "gpu_check/manifest.json").read_text())
            self.assertEqual(check_bundle.start(root, mounts, ["/gpu_check/bin/troupe", "--version"]),
                             (0, manifest["version"] + "\n"))
            code, said = check_bundle.start(root, mounts, ["/gpu_check/bin/troupe", "check",
                                                           "/gpu_check/tests/fixtures/onnx/mlp.json"])
            self.assertEqual(code, 2, said)
            listed = subprocess.run([root / "gpu_check/run", "--list"], capture_output=True, text=True, check=True)
            self.assertEqual(len(listed.stdout.splitlines()), len(checks.CHECKS))


class Document(unittest.TestCase):
    TABLE = """text
| op | shape | target | measured |
|---|---|---|---|
| `lora` | `r16 1` | 3.5 µs | |
| `step` | `7B` | | |
| `lora` | `r99` | | |

Measured: nothing so far.
"""

    def test_figures_come_into_their_rows(self):
        text, written = document.with_figures(self.TABLE, {("lora", "r16 1"): 3.25, ("step", "7B"): 6100, ("x", "y"): 1})
        self.assertEqual(written, 2)
        self.assertIn("| `lora` | `r16 1` | 3.5 µs | 3.25 µs |", text)
        self.assertIn("| `step` | `7B` |  | 6.10 ms |", text)
        self.assertIn("| `lora` | `r99` | | |", text)

    def test_a_report_of_the_emulated_machine_has_none(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            report.write_text(json.dumps({"dry": True, "checks": []}))
            with self.assertRaisesRegex(SystemExit, "the emulated machine, which measures nothing"):
                document.main(report)

    def test_every_row_of_the_documentation_is_one_that_a_benchmark_has_a_target_or_name_for(self):
        sources = "".join(f.read_text() for f in (ROOT / "gpu/kernels/cuda/bench").glob("*.[ch]*"))
        for line in document.DOCUMENT.read_text().split("\n"):
            if match := re.match(r"\| `([^`]+)` \| `([^`]+)` \|.*\|.*\|.*\|", line):
                self.assertIn(match[1].split(",")[0], sources, line)


if __name__ == "__main__":
    BUILD, PYTHON = Path(sys.argv.pop(1)).resolve(), sys.argv.pop(1)
    unittest.main(verbosity=2)
