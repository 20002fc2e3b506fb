#!/usr/bin/env python3
"""Whatever a file holds, no command ends by a signal or an uncaught exception: it works, or says in one line that names the
file what is wrong. TROUPE_SEED=N breaks the files in another way; TROUPE_FORMS=all breaks each in every way, and
TROUPE_ONLY=COMMAND runs one command alone.

Needs the Python of tests/requirements.txt.
"""
import concurrent.futures
import os
import random
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import cluster
import commands_test
import processes
from broken_files import KINDS, SURE, certificates, forms, put
from cluster import Cluster, ClusterTest
from commands_that_read import READ_NOTHING, READS, naming
from fixtures import Fixture
from onnx_models import TensorProto, helper, model, value

SEED = os.environ.get("TROUPE_SEED", "1")
MEMORY = 16 << 30  # of an address space: what asks for more is refused, not tried
FORMS = os.environ.get("TROUPE_FORMS", "some")
# Forms of a kind for the first command that reads it, and for each further one.
FIRST, SAMPLE = (4, 1) if processes.SANITIZER else (12, 3)
LISTED = [name for name, kind in KINDS.items() if kind.format in ("toml", "pbtxt") or name == "latency profile"]
PROBLEMS = 200  # lines: of a file whose problems are listed, each in a line
PHOTO = """[[model]]
name = "photo"
source = "{}"
slo_ms = 20000
max_batch = 8
preprocess = {{ decode = "image", input = "pixels", resize = [20, 30], layout = "NHWC" }}
"""
OPAQUE = ("terminate called", "std::", "bad_alloc", "basic_string", "vector::", "json.exception", "stoi", "stod", "_M_", "filesystem error")
# What a command may say before it reads the file; OpenVINO is not built with sanitizers.
UNRELATED = ("no node 'nobody'", *(["libtroupe_openvino.so is not installed"] if processes.SANITIZER else []))


def bounded():
    if not processes.SANITIZER:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def end_of(command, stdin=subprocess.DEVNULL):
    return subprocess.run([processes.PROGRAM, *command], capture_output=True, text=True, errors="replace",
                          timeout=processes.PATIENCE, preexec_fn=bounded, stdin=stdin)


class Case:
    """A command with a broken file."""

    def __init__(self, folder, command, use, kind, form, make, places):
        self.name, arguments, *code = use
        self.command, self.kind, self.form, self.codes = command, kind, form, (*code, 2)
        folder.mkdir()
        (folder / "in").mkdir()
        self.file = put(kind, make, folder / "in")
        named = folder / "naming.toml"
        if "{naming}" in arguments:
            named.write_text(naming(self.name, self.file))
        self.named = folder / "in" if "{parent}" in arguments else self.file
        places = {**places, "file": self.file, "parent": folder / "in", "naming": named, "out": folder / "out"}
        words = [word.format(**places) for word in arguments.split()]
        self.stdin = words.pop() if "<" in words else None
        self.words = [*command.split(), *(w for w in words if w != "<")]

    def run(self):
        if self.stdin is None:
            return end_of(self.words)
        try:
            with open(self.stdin) as stdin:
                return end_of(self.words, stdin)
        except OSError:
            return None


class BrokenFiles(ClusterTest):
    @classmethod
    def setUpClass(cls):
        photo = tempfile.NamedTemporaryFile(suffix=".onnx")
        cls.addClassCleanup(photo.close)
        rows = ["rows", 20, 30, 3]
        photo.write(model([helper.make_node("Cast", ["pixels"], ["y"], to=TensorProto.FLOAT)],
                          [value("pixels", rows, TensorProto.UINT8)], [value("y", rows)]).SerializeToString())
        photo.flush()
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.cluster.file.write_text(cls.cluster.file.read_text() + PHOTO.format(photo.name))
        cls.cluster.start()
        certs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(certs.cleanup)
        code, out, err = processes.run("certs", certs.name, "--node", "n=127.0.0.1")
        assert code == 0, out + err
        cls.kinds = {**KINDS, **certificates(Path(certs.name))}

    def tearDown(self):
        mlp = Fixture("mlp")
        code, answer = self.cluster.infer("mlp", mlp.body())
        self.assertEqual(code, 200, answer)
        self.assertLessEqual(mlp.distance(answer), 1e-4)
        self.assertTrue(self.cluster.status()["ready"])

    def test_the_commands_are_all_of_the_program(self):
        self.assertEqual(sorted([*READS, *READ_NOTHING]), sorted(commands_test.Help.COMMANDS))
        self.assertEqual({use[0] for uses in READS.values() for use in uses}, set(self.kinds))

    def cases(self, folder):
        seen = set()
        lines = folder / "conversation"
        lines.write_bytes(KINDS["conversation"].good)
        places = {"running": self.cluster.file, "url": self.cluster.url, "lines": lines}
        for command, uses in READS.items():
            for use in uses:
                name = use[0]
                kind = self.kinds[name]
                some = list(forms(kind, f"{SEED} {name}"))
                if FORMS != "all":
                    some = random.Random(f"{SEED} {command} {name}").sample(some, SAMPLE if name in seen else FIRST)
                seen.add(name)
                if os.environ.get("TROUPE_ONLY", command) == command:
                    for form, make in some:
                        yield Case(folder / str(len(os.listdir(folder))), command, use, kind, form, make, places)

    def check(self, case, done):
        where = f"{' '.join(case.words)}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}"
        self.assertIn(done.returncode, (0, 1, 2), where)
        for word in OPAQUE:
            self.assertNotIn(word, done.stderr, where)
        if case.form in SURE and case.form not in case.kind.accepts:
            self.assertIn(done.returncode, case.codes, where)
        if done.returncode == 0:
            return
        self.assertTrue((done.stderr + done.stdout).strip(), where)
        lines = done.stderr.splitlines()
        if done.returncode == 2:
            self.assertIn(len(lines), range(1, PROBLEMS if case.name in LISTED else 2), where)
            for line in lines:
                self.assertTrue(any(said in line for said in (str(case.named), *UNRELATED)), where)
        self.assertLess(max(map(len, lines), default=0), 2000, where)

    def test_every_command_over_every_kind_of_file_that_it_reads(self):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cases = list(self.cases(Path(folder)))
            for case, done in zip(cases, pool.map(Case.run, cases)):
                with self.subTest(case.command, kind=case.name, form=case.form, seed=SEED):
                    if done is not None:
                        self.check(case, done)

    def test_a_cluster_does_not_start_with_a_model_that_cannot_be_loaded(self):
        for kind in ("tensor model", "checkpoint", "weights", "tokenizer", "encoder", "weights of an encoder", "tokenizer of an encoder"):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                broken = put(KINDS[kind], lambda path: path.write_bytes(random.Random(SEED).randbytes(4096)), Path(folder))
                file, ports = Path(folder, "cluster.toml"), processes.free_ports(2)
                file.write_text(naming(kind, broken).replace("7701", str(ports[0])).replace("8080", str(ports[1])))
                done = end_of(["up", str(file)])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(processes.without_log(done.stderr).splitlines()), 1, done.stderr)
                self.assertIn(str(broken), processes.without_log(done.stderr))

    def test_arguments_that_are_no_text(self):
        garbage, deep, long = b"\xff\xfe\x80'\"\n\x1b[31m", b'{"a":' * 20_000 + b"1" + b"}" * 20_000, b"/" + b"a" * 5000
        running, url = self.cluster.file, self.cluster.url
        for command in (("ask", running, "gateway/0", "get_state", deep), ("ask", running, garbage, "get_state"),
                        ("tell", running, "gateway/0", garbage), ("why", running, garbage), ("scale", running, garbage, "--instances", 1),
                        ("migrate", running, garbage, garbage), ("undeploy", running, garbage), ("drain", running, garbage),
                        ("deploy", running, "--name", garbage, "--source", long, "--slo-ms", garbage),
                        ("load", url, "--model", garbage, "--duration", 0.1), ("load", garbage), ("chat", long),
                        ("generate", "--model", long, "--prompt", "a"), ("embed", "--model", long, "--text", garbage),
                        ("serve", long), ("infer", "--model-file", long, "--input", long, "--output", long),
                        ("profile", "--model", long), ("certs", long), ("goodput", long), ("experiment", "run", garbage),
                        ("plan", "multicast", long), ("replay", long, url), ("bench", "load", "--model", long),
                        ("bench", "serve", "--model-file", long), ("check", long), ("up", running, "--node", garbage)):
            with self.subTest(command[0]):
                done = end_of(tuple(word if isinstance(word, bytes) else str(word) for word in command))
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertTrue((done.stderr + done.stdout).strip(), command)
                for word in OPAQUE:
                    self.assertNotIn(word, done.stderr)


if __name__ == "__main__":
    cluster.main()
