#!/usr/bin/env python3
"""docs/operations.md lists every reason for a drop or a failure that an answer can carry, and no other.

    documented_names_test.py ROOT
"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()


class Errors(unittest.TestCase):
    def test_every_name_of_an_error_is_documented(self):
        source = (ROOT / "messages/tensor/request.cpp").read_text()
        of = [re.search(rf"{kind}_count> names{{(.*?)}};", source, re.DOTALL)[1] for kind in ("drop_reason", "failure")]
        names = set(re.findall(r'"([a-z_]+)"', "".join(of))) - {"none"}
        self.assertGreater(len(names), 10)
        table = (ROOT / "docs/operations.md").read_text().split("## Errors\n")[1].split("\n## ")[0]
        self.assertEqual(set(re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)), names)


if __name__ == "__main__":
    unittest.main()
