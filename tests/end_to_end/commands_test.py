#!/usr/bin/env python3
"""Every command explains itself, prints one JSON document if asked, and works as documented."""
import array
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import ALL_FIXTURES, FIXTURES, ROOT, Fixture, relative_l2
from processes import PATIENCE

QUICKSTART = ROOT / "examples/quickstart"
EMULATED = ROOT / "examples/emulated"


def run(*arguments, code=0):
    done = subprocess.run([processes.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == code, f"troupe {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Help(unittest.TestCase):
    COMMANDS = ("up", "check", "config", "config dump", "status", "actors", "ask", "tell", "top", "trace", "certs", "deploy",
                "undeploy", "drain", "load", "chat", "serve", "infer", "embed", "profile", "simulate", "bench", "bench fabric",
                "bench schedule", "bench serve", "bench simulate", "bench infer", "bench llm",
                "bench chain", "bench load", "bench partition", "bench plan", "bench route", "replay", "traffic", "migrate", "why", "goodput",
                "generate", "experiment", "experiment list", "experiment run", "experiment plot", "plan",
                "plan multicast", "scale", "parameters")

    def test_every_command_shows_an_example_of_itself(self):
        for command in self.COMMANDS:
            with self.subTest(command):
                text = run(*command.split(), "--help")
                self.assertRegex(text, f"Example:\n.*troupe {command}")

    def test_every_whole_number_has_a_range(self):
        without = []
        for command in self.COMMANDS:
            for option in re.findall(r"(?m)^ +(?:-\w,)?(--[\w-]+) U?INT(?![\w:])", run(*command.split(), "--help")):
                without.append(f"{command} {option}")
        self.assertEqual(without, ["generate --logits-at"])  # its range is that of the prompt

    def test_the_list_of_commands_is_complete(self):
        listed = run("--help").split("Subcommands:")[1].split("Example")[0]
        names = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "}
        self.assertEqual(names, {c.split()[0] for c in self.COMMANDS})

    def test_openmp_spins_briefly_unless_the_environment_says_otherwise(self):
        def bound(**environment):
            known = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
            done = subprocess.run([processes.PROGRAM, "--version"], capture_output=True, text=True, timeout=PATIENCE,
                                  env={**known, "OMP_DISPLAY_ENV": "verbose", **environment})
            return re.findall(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)[-1]
        self.assertEqual(bound(), "1000")
        self.assertEqual(bound(GOMP_SPINCOUNT="77"), "77")
        self.assertEqual(bound(OMP_WAIT_POLICY="passive"), "0")

    def test_the_version(self):
        self.assertRegex(run("--version"), r"^\d+\.\d+\.\d+")


class WithoutCluster(unittest.TestCase):
    def test_check_says_yes(self):
        for file in (QUICKSTART / "cluster.toml", EMULATED / "cluster.toml"):
            self.assertIn("ok", run("check", file))
            self.assertTrue(json.loads(run("check", file, "--json"))["ok"])

    def test_bench_schedule_refuses_threads_that_it_has_no_use_for(self):
        for arguments in (["--sweep", "--domains", 4], ["--sweep", "--threads", 1], ["--domains", 2, "--threads", 5],
                          ["--domains", 4, "--models", 3]):
            with self.subTest(arguments):
                run("bench", "schedule", *arguments, code=2)

    def test_load_refuses_what_completions_have_no_use_for(self):
        url = "http://127.0.0.1:1"
        for arguments in (["--completions", "--model", "m", "--prompt", "x"],
                          ["--completions", "--model", "m", "--rate", 1],
                          ["--completions", "--prompt", "x", "--rate", 1],
                          ["--completions", "--model", "m", "--prompt", "x", "--rate", 1, "--concurrency", 1],
                          ["--completions", "--model", "m", "--prompt", "x", "--rate", 1, "--rows", 2],
                          ["--completions", "--model", "m", "--prompt", "x", "--prompt-tokens", 5, "--rate", 1],
                          ["--model", "m", "--prompt", "x"]):
            with self.subTest(arguments):
                run("load", url, *arguments, code=2)

    def test_load_and_chat_fail_without_a_server(self):
        done = json.loads(run("load", "http://127.0.0.1:1", "--completions", "--model", "m", "--prompt", "x",
                              "--concurrency", 1, "--requests", 2, "--json", code=1))
        self.assertEqual([done["sent"], done["completed"], done["failed"]], [2, 0, 2])
        chat = [processes.PROGRAM, "chat", "http://127.0.0.1:1", "--model", "m"]
        done = subprocess.run(chat, input="hello\nagain\n", capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, "chat: cannot connect (127.0.0.1:1): Connection refused\n")

    def test_a_command_that_fails_prints_a_document_too(self):
        file = QUICKSTART / "cluster.toml"  # nothing of it runs
        for command in (("status", "/nowhere.toml"), ("actors", "/nowhere.toml"),
                        ("ask", file, "gateway/0", "get_state", "{}"), ("deploy", file, "/nowhere.onnx"),
                        ("drain", file, "nobody"), ("why", file, "1"), ("trace", file), ("infer", "/nowhere.onnx"),
                        ("profile", "/nowhere.onnx"), ("simulate", file, "--workload", "/nowhere.toml"), ("simulate", file), ("load", "nowhere", "--model", "m"),
                        ("bench", "schedule", "--sweep", "--domains", 4), ("up", "/nowhere.toml"),
                        ("certs", file), ("status", file, "--unknown")):
            with self.subTest(command):
                done = subprocess.run([processes.PROGRAM, *map(str, command), "--json"], capture_output=True, text=True,
                                      timeout=PATIENCE)
                self.assertNotEqual(done.returncode, 0)
                self.assertTrue(json.loads(done.stdout)["error"], done.stderr)

    def test_check_counts_problems(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder, "bad.toml")
            bad.write_text("nam = 1\n")
            document = json.loads(run("check", bad, "--json", code=2))
            self.assertFalse(document["ok"])
            self.assertTrue(all(p["line"] >= 0 and p["text"] for p in document["problems"]))

    def test_config_dump_reads_back_to_the_same_cluster(self):
        for file in (QUICKSTART / "cluster.toml", EMULATED / "cluster.toml"):
            with tempfile.TemporaryDirectory() as folder:
                again = Path(folder, "again.toml")
                again.write_text(run("config", "dump", file))
                hashes = {json.loads(run("check", f, "--json"))["hash"] for f in (file, again)}
                self.assertEqual(len(hashes), 1)
            json.loads(run("config", "dump", file, "--json"))

    def test_infer_reproduces_the_golden_files(self):
        for fixture in map(Fixture, ALL_FIXTURES):
            with self.subTest(fixture.name), tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "out.bin")
                document = json.loads(run("infer", "--model-file", fixture.path, "--input",
                                          FIXTURES / f"{fixture.name}.in.bin", "--output", out, "--json"))
                self.assertEqual(document["rows"], fixture.rows)
                got = array.array("f", out.read_bytes())
                self.assertLessEqual(relative_l2(got, fixture.output), 1e-4)

    def test_profile_fits_a_line(self):
        document = json.loads(run("profile", "--model-file", Fixture("mlp").path, "--max-batch", 4, "--json"))
        self.assertGreater(document["alpha_ms"] + document["beta_ms"], 0)

    def test_profile_measures_each_engine(self):
        document = json.loads(run("profile", "--model-file", Fixture("mlp").path, "--max-batch", 2, "--engines", "--json"))
        native, openvino = document["engines"]
        self.assertEqual((native["engine"], openvino["engine"]), ("native", "openvino"))
        self.assertEqual([s["rows"] for s in native["samples"]], [1, 2])
        self.assertEqual(set(openvino) - {"problem"}, {"engine"} if "problem" in openvino else set(native))

    def test_profile_of_a_language_model_is_one_for_emulated_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            tasks, profile = FIXTURES.parent / "llama-tasks", Path(folder, "tasks.toml")
            options = ["--max-batch", 4, "--max-context", 64, "--seconds", 0.1, "--kv-mb", 4]
            document = json.loads(run("profile", "--model", tasks / "base", "--adapter", tasks / "adapters" / "upper",
                                      "--output", profile, "--json", *options))
            self.assertGreater(document["profile"]["fixed_us"] + document["profile"]["decode_us"], 0)
            for name in ("prefill_tokens", "decodes", "adapters"):
                self.assertGreater(max(s[name] for s in document["steps"]), 1, name)
            held_out = [s for s in document["steps"] if s["held_out"]]
            worst = max(abs(s["fit_milliseconds"] / s["milliseconds"] - 1) for s in held_out)
            self.assertAlmostEqual(worst, document["held_out_error"]["largest"], places=3)
            cluster = Path(folder, "cluster.toml")
            text = (QUICKSTART.parent / "emulated_llm" / "cluster.toml").read_text()
            text = re.sub('(?m)^profile = .*', f'profile = "{profile}"', text)
            cluster.write_text(re.sub('(?m)^model = .*', f'model = "{tasks / "base"}"', text))
            run("check", cluster)
            self.assertIn("error of the fit", run("profile", "--model", tasks / "base", *options))
            for wrong, said in ((["--model", folder], "config.json"), (["--model-file", "x.onnx", "--model", folder], "excludes"),
                                ([], "--model-file or --model"), (["--model", tasks / "base", "--dtype", "f8"], "--dtype f8"),
                                (["--model", tasks / "base", "--adapter", folder], "adapter_config.json")):
                with self.subTest(said):
                    done = subprocess.run([processes.PROGRAM, "profile", *map(str, wrong)], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 2, done)
                    self.assertIn(said, done.stderr)

    def test_simulation_repeats_itself(self):
        for folder, seeds in ((QUICKSTART, (1, 2)), (EMULATED, (7,))):
            hashes = []
            for seed in seeds:
                both = [json.loads(run("simulate", folder / "cluster.toml", "--workload", folder / "workload.toml",
                                       "--seed", seed, "--json")) for _ in range(2)]
                self.assertEqual(both[0]["trace_hash"], both[1]["trace_hash"])
                hashes.append(both[0]["trace_hash"])
            self.assertEqual(len(set(hashes)), len(seeds), "another seed, another trace")


class WithCluster(ClusterTest):
    def test_status_and_load_speak_json(self):
        with Cluster(("mlp", "encoder"), slo_ms=5000) as c:
            c.start()
            load = json.loads(run("load", c.url, "--rate", 40, "--duration", 2, "--json"))
            self.assertEqual(set(load["models"]), {"mlp", "encoder"})
            self.assertEqual(load["total"]["sent"], load["total"]["finished"])
            self.assertEqual(c.metric("troupe_requests_finished_total"), load["total"]["finished"])
            status = json.loads(run("status", c.file, "--json"))
            self.assertTrue(status["ready"])
            self.assertEqual([n["node"] for n in status["nodes"]], ["head", "worker"])
            self.assertIn("mlp", run("status", c.file))
            self.assertEqual(c.get("/v2/health/ready")[0], 200)

    def test_bench_serve_shows_where_the_time_goes(self):
        document = json.loads(run("bench", "serve", "--model-file", Fixture("mlp").path, "--rate", 40, "--duration", 1,
                                  "--slo-ms", 5000, "--json"))
        self.assertEqual(document["finished"], document["requests"])
        p50 = {s["name"]: s["p50_us"] for s in document["stages"]}
        self.assertGreater(p50["all"], p50["execute"])
        self.assertGreater(p50["execute"], 0)

    def test_status_of_a_cluster_that_is_down(self):
        with Cluster() as c:
            self.assertFalse(json.loads(run("status", c.file, "--json", code=1))["ready"])


if __name__ == "__main__":
    cluster.main()
