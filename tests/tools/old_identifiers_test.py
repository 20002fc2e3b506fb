#!/usr/bin/env python3
"""No identifier of tests/old_identifiers.txt is used anywhere: neither in a file nor as a file's name.

    old_identifiers_test.py ROOT
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
LIST = "tests/old_identifiers.txt"
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def old_identifiers():
    lines = (ROOT / LIST).read_text().splitlines()
    return {line.encode() for line in lines if line and not line.startswith("#")}


def project_files():
    """Those that git tracks; of a copy without git, all but what builds leave behind."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.decode().split("\0") if name]
    names = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [str(name) for name in names if name.parts[0] not in ("build", ".git")]


def found_in(data, names):
    """(line, identifier) of each use in `data`."""
    for number, line in enumerate(data.split(b"\n"), 1):
        for word in WORD.findall(line):
            if word in names:
                yield number, word.decode()


class OldIdentifiers(unittest.TestCase):
    def test_a_use_is_found(self):
        names = old_identifiers()
        self.assertGreater(len(names), 400)
        self.assertEqual(list(found_in(b"int x;\nint text" + b"_router = 1;", names)), [(2, "text" + "_router")])
        self.assertEqual(list(found_in(b"my_text" + b"_routers", names)), [])

    def test_none_is_used(self):
        names = old_identifiers()
        uses = []
        for name in project_files():
            # Weights and golden outputs are binary data.
            if name == LIST or name.startswith("tests/fixtures/") or not (ROOT / name).is_file():
                continue
            uses += [f"{name}: the file's name" for part in Path(name).parts
                     if Path(part).stem.encode() in names]
            uses += [f"{name}:{number}: {word}" for number, word in found_in((ROOT / name).read_bytes(), names)]
        self.assertEqual(uses, [], "renamed: see docs/terms.md")


if __name__ == "__main__":
    unittest.main()
