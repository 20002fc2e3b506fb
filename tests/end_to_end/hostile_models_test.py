#!/usr/bin/env python3
"""Well-formed models that no program should run: cycles, absurd shapes, weights that are not there, bombs. Each ends with exit
code 2 and one line that names the file and the node, in bounded memory.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from hostile_models import NATIVE, OPENVINO, hostile_models

MEMORY_MB = 1500  # of a process that refuses a model


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.row, self.out = (Path(folder.name, name) for name in ("m.onnx", "row", "out"))

    def run_on(self, *command):
        """(exit code, standard error, largest memory in MB)"""
        with tempfile.TemporaryFile() as error:
            child = subprocess.Popen([processes.PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=error)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            error.seek(0)
            return child.returncode, error.read().decode(errors="replace"), usage.ru_maxrss / 1000

    def check(self, hostile, engine, code, text, memory, node=True):
        runs = engine in hostile.runs or (engine == "auto" and hostile.runs)
        self.assertEqual(code, 0 if runs else 2, text)
        self.assertLess(memory, MEMORY_MB * processes.MEMORY_FACTOR)
        if runs:
            return
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn("m.onnx: ", text)
        if node:
            self.assertIn(hostile.native if engine == NATIVE and hostile.native else hostile.says, text)

    def test_infer(self):
        for hostile in hostile_models():
            self.file.write_bytes(hostile.model.SerializeToString())
            self.row.write_bytes(hostile.input)
            for engine in ("auto", NATIVE, OPENVINO):
                with self.subTest(hostile.kind, engine=engine):
                    self.out.write_bytes(b"")
                    self.check(hostile, engine, *self.run_on("infer", "--model-file", self.file, "--engine", engine, "--input",
                                                             self.row, "--output", self.out))
                    if self.out.read_bytes():
                        self.assertEqual(self.out.read_bytes(), hostile.output)

    def test_profile_and_serve(self):
        for hostile in hostile_models():
            self.file.write_bytes(hostile.model.SerializeToString())
            for command in (("profile", "--max-batch", 1, "--model-file", self.file), ("serve", self.file, "--print-config")):
                with self.subTest(hostile.kind, command=command[0]):
                    self.check(hostile, "auto", *self.run_on(*command))


if __name__ == "__main__":
    cluster.main()
