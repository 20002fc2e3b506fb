#!/usr/bin/env python3
"""tools/check_includes finds planted violations, and only those: check_includes_test.py CHECKER"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = sys.argv.pop(1)


def verdict(files):
    """Runs the checker over a tree of {path: content}; gives (exit code, lines)."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            at = Path(root, path)
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text(content)
        done = subprocess.run([CHECKER, root], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()


class CheckIncludes(unittest.TestCase):
    def refuses(self, path, content, position, *words):
        code, lines = verdict({path: content})
        self.assertEqual(code, 1, lines)
        self.assertTrue(lines[0].startswith(position + ": "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def accepts(self, path, content):
        code, lines = verdict({path: content})
        self.assertEqual(code, 0, lines)

    def test_a_folder_includes_what_it_may(self):
        self.accepts("policies/x.cpp", '#include "messages/ids.hpp"\n#include <vector>\n')
        self.accepts("actors/x.cpp", '#include "gpu/device.hpp"\n#include <caf/all.hpp>\n')
        self.accepts("transport/ucx_x.cpp", "#include <ucp/api/ucp.h>\n")
        self.accepts("tests/x.cpp", '#include "tools/x.hpp"\n#include <ucp/api/ucp.h>\n')

    def test_a_policy_sees_no_actors_threads_or_logs(self):
        self.refuses("policies/x.cpp", '\n#include "actors/node.hpp"\n', "policies/x.cpp:2", "messages")
        self.refuses("policies/x.cpp", "#include <caf/actor.hpp>\n", "policies/x.cpp:1", "CAF")
        self.refuses("policies/x.cpp", "#include <mutex>\n", "policies/x.cpp:1", "threads")
        self.refuses("policies/x.cpp", "#include <spdlog/spdlog.h>\n", "policies/x.cpp:1", "spdlog")

    def test_only_parts_of_a_folder_may_be_open_to_another(self):
        self.refuses("actors/x.cpp", '#include "transport/ucx_fabric.hpp"\n', "actors/x.cpp:1",
                     "transport/fabric.hpp")
        self.refuses("transport/x.cpp", "#include <ucp/api/ucp.h>\n", "transport/x.cpp:1", "transport/ucx*")
        self.refuses("messages/ids.hpp", "#pragma once\n#include <caf/fwd.hpp>\n", "messages/ids.hpp:2", "CAF")

    def test_nobody_includes_tools_but_tools_and_tests(self):
        self.refuses("examples/x.cpp", '#include "tools/x.hpp"\n', "examples/x.cpp:1")

    def test_an_example_has_headers_of_its_own_next_to_its_sources(self):
        code, lines = verdict({"examples/x/x.cpp": '#include "y.hpp"\n', "examples/x/y.hpp": "#pragma once\n"})
        self.assertEqual(code, 0, lines)
        self.refuses("examples/x/x.cpp", '#include "y.hpp"\n', "examples/x/x.cpp:1", "table")

    def test_an_unknown_library_must_be_entered_in_the_table(self):
        self.refuses("gpu/x.cpp", "#include <torch/torch.h>\n", "gpu/x.cpp:1", "table")
        self.refuses("tools/x.cpp", "#include <torch/torch.hpp>\n", "tools/x.cpp:1", "table")
        self.refuses("policies/x.cpp", "#include <sys/socket.h>\n", "policies/x.cpp:1", "POSIX")

    def test_headers_have_habits(self):
        self.refuses("gpu/x.hpp", "#include <vector>\n", "gpu/x.hpp:1", "#pragma once")
        self.refuses("actors/x.hpp", "#pragma once\n#include <caf/all.hpp>\n", "actors/x.hpp:2", "caf/all.hpp")
        self.refuses("policies/x.cpp", "#include <ranges>\n", "policies/x.cpp:1", "clang 14")

    def test_only_the_clock_reads_the_clock(self):
        read = "auto t = std::chrono::steady_clock::now();\n"
        self.refuses("policies/x.cpp", read, "policies/x.cpp:1", "clock")
        self.accepts("messages/time.hpp", "#pragma once\n" + read)
        self.accepts("policies/x.cpp", "// never std::chrono::steady_clock::now()\n")

    def test_no_test_name_gets_lost_in_ctest(self):
        self.refuses("tests/x.cpp", '\nTEST_CASE("a; b") {}\n', "tests/x.cpp:2", "ctest")
        self.accepts("tests/x.cpp", 'TEST_CASE("a, b: c") { CHECK(x[0]); }\n')

    def test_a_long_file_is_noted(self):
        code, lines = verdict({"gpu/x.cpp": "\n" * 500})
        self.assertEqual(code, 0)
        self.assertIn("gpu/x.cpp:500: note", lines[0])

    def test_an_empty_tree_is_an_error(self):
        self.assertNotEqual(verdict({"README": ""})[0], 0)


if __name__ == "__main__":
    unittest.main()
