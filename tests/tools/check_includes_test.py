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
        self.accepts("policies/llm/x.cpp", '#include "messages/common/ids.hpp"\n#include <vector>\n')
        self.accepts("actors/tensor/x.cpp", '#include "gpu/device/device.hpp"\n#include <caf/all.hpp>\n')
        self.accepts("transport/fabric/ucx_x.cpp", "#include <ucp/api/ucp.h>\n")
        self.accepts("tests/x.cpp", '#include "tools/x.hpp"\n#include <ucp/api/ucp.h>\n')

    def test_a_policy_sees_no_actors_threads_or_logs(self):
        self.refuses("policies/common/x.cpp", '\n#include "actors/cluster/node.hpp"\n', "policies/common/x.cpp:2", "messages")
        self.refuses("policies/common/x.cpp", "#include <caf/actor.hpp>\n", "policies/common/x.cpp:1", "CAF")
        self.refuses("policies/common/x.cpp", "#include <mutex>\n", "policies/common/x.cpp:1", "threads")
        self.refuses("policies/common/x.cpp", "#include <spdlog/spdlog.h>\n", "policies/common/x.cpp:1", "spdlog")

    def test_only_parts_of_a_folder_may_be_open_to_another(self):
        self.refuses("actors/runtime/x.cpp", '#include "transport/fabric/ucx_fabric.hpp"\n', "actors/runtime/x.cpp:1",
                     "transport/fabric/pull_status.hpp")
        self.refuses("transport/http/x.cpp", "#include <ucp/api/ucp.h>\n", "transport/http/x.cpp:1", "transport/fabric/ucx*")
        self.refuses("messages/common/ids.hpp", "#pragma once\n#include <caf/fwd.hpp>\n", "messages/common/ids.hpp:2", "CAF")

    def test_a_subject_includes_what_it_may(self):
        self.accepts("policies/llm/x.cpp", '#include "policies/common/x.hpp"\n#include "policies/llm/y.hpp"\n')
        self.refuses("policies/llm/x.cpp", '#include "policies/batching/y.hpp"\n', "policies/llm/x.cpp:1", "policies/common")
        self.refuses("gpu/llm/x.cpp", '#include "gpu/llm/cuda/y.hpp"\n', "gpu/llm/x.cpp:1", "gpu/kernels")
        self.accepts("gpu/llm/cuda/x.cpp", '#include "gpu/llm/y.hpp"\n')

    def test_only_the_registry_of_policies_knows_all_of_them(self):
        baseline = '#include "policies/baselines/y.hpp"\n'
        self.accepts("policies/registry/x.cpp", baseline)
        self.refuses("policies/batching/x.cpp", baseline, "policies/batching/x.cpp:1", "policies/common")
        self.refuses("policies/matchmaking/x.cpp", baseline, "policies/matchmaking/x.cpp:1", "policies/batching")
        self.refuses("policies/batching/x.cpp", '#include "policies/registry/y.hpp"\n', "policies/batching/x.cpp:1",
                     "policies/common")

    def test_a_policy_uses_neither_ciphers_nor_solvers(self):
        self.refuses("policies/frontend/x.cpp", "#include <openssl/sha.h>\n", "policies/frontend/x.cpp:1", "OpenSSL")
        self.refuses("policies/placement/x.cpp", "#include <coin/CbcModel.hpp>\n", "policies/placement/x.cpp:1", "CBC")
        self.accepts("transport/tls/x.cpp", "#include <openssl/sha.h>\n")
        self.accepts("tools/lab/x.cpp", "#include <coin/CbcModel.hpp>\n")

    def test_every_folder_is_a_subject(self):
        self.refuses("policies/other/x.cpp", "", "policies/other/x.cpp:1", "table")
        self.refuses("actors/other/x.cpp", "", "actors/other/x.cpp:1", "table")
        self.refuses("policies/x.cpp", "", "policies/x.cpp:1", "table")

    def test_nobody_includes_tools_but_tools_and_tests(self):
        self.refuses("examples/x.cpp", '#include "tools/x.hpp"\n', "examples/x.cpp:1")

    def test_an_example_has_headers_of_its_own_next_to_its_sources(self):
        code, lines = verdict({"examples/x/x.cpp": '#include "y.hpp"\n', "examples/x/y.hpp": "#pragma once\n"})
        self.assertEqual(code, 0, lines)
        self.refuses("examples/x/x.cpp", '#include "y.hpp"\n', "examples/x/x.cpp:1", "table")

    def test_an_unknown_library_must_be_entered_in_the_table(self):
        self.refuses("gpu/common/x.cpp", "#include <torch/torch.h>\n", "gpu/common/x.cpp:1", "table")
        self.refuses("tools/x.cpp", "#include <torch/torch.hpp>\n", "tools/x.cpp:1", "table")
        self.refuses("policies/common/x.cpp", "#include <sys/socket.h>\n", "policies/common/x.cpp:1", "POSIX")

    def test_headers_have_habits(self):
        self.refuses("gpu/common/x.hpp", "#include <vector>\n", "gpu/common/x.hpp:1", "#pragma once")
        self.refuses("actors/runtime/x.hpp", "#pragma once\n#include <caf/all.hpp>\n", "actors/runtime/x.hpp:2", "caf/all.hpp")
        self.refuses("policies/common/x.cpp", "#include <ranges>\n", "policies/common/x.cpp:1", "clang 14")

    def test_only_the_clock_reads_the_clock(self):
        read = "auto t = std::chrono::steady_clock::now();\n"
        self.refuses("policies/common/x.cpp", read, "policies/common/x.cpp:1", "clock")
        self.accepts("messages/common/time.hpp", "#pragma once\n" + read)
        self.accepts("policies/common/x.cpp", "// never std::chrono::steady_clock::now()\n")

    def test_no_test_name_gets_lost_in_ctest(self):
        self.refuses("tests/x.cpp", '\nTEST_CASE("a; b") {}\n', "tests/x.cpp:2", "ctest")
        self.accepts("tests/x.cpp", 'TEST_CASE("a, b: c") { CHECK(x[0]); }\n')

    def test_a_long_file_is_noted(self):
        code, lines = verdict({"gpu/common/x.cpp": "\n" * 500})
        self.assertEqual(code, 0)
        self.assertIn("gpu/common/x.cpp:500: note", lines[0])

    def test_an_empty_tree_is_an_error(self):
        self.assertNotEqual(verdict({"README": ""})[0], 0)


if __name__ == "__main__":
    unittest.main()
