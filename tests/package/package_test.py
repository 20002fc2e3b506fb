#!/usr/bin/env python3
"""An installed Troupe works for others: from any folder, to build against, and without this machine's libraries.

    tests/package/package_test.py BUILD-FOLDER [--every-header] [test names]
"""
import array
import collections
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "end_to_end"))
import processes  # noqa: E402
from cluster import Cluster  # noqa: E402
from fixtures import Fixture, relative_l2  # noqa: E402
from processes import PATIENCE, Process, descendants, free_ports  # noqa: E402

HERE = Path(__file__).resolve().parent
BUILD = Path()
EVERY_HEADER = "--every-header" in sys.argv
# Libraries of every Linux; the bundle has all others.
GLIBC = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|nss_\w+))(-[\d.]+)?\.so[.\d]*")
# Belongs to the drivers of the machine's network cards: UCX uses it if it is installed.
RDMA = re.compile(r"lib(ibverbs|rdmacm|mlx\d|nl)[-.].*")
MAX_MIB = 45


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=5 * PATIENCE, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="troupe-package-")
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()


class Installed(Folder):
    """`cmake --install`, then moved: no path may be hard-coded."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved" / "here"
        cls.prefix.parent.mkdir()
        shutil.move(cls.folder / "first", cls.prefix)

    def test_the_program_runs(self):
        self.assertRegex(run(self.prefix / "bin/troupe", "--version"), r"^\d+\.\d+\.\d+")
        run(self.prefix / "bin/troupe", "check", self.prefix / "share/troupe/examples/quickstart/cluster.toml")

    def test_headers_compile_on_their_own(self):
        """Without --every-header only those that no other one includes; through them all are compiled."""
        root = self.prefix / "include/troupe"
        headers = sorted(str(h.relative_to(root)) for h in root.rglob("*.hpp"))
        self.assertIn("plugins/plugin.hpp", headers)
        if not EVERY_HEADER:
            included = {name for h in headers for name in re.findall(r'^#include "(.+)"', (root / h).read_text(), re.M)}
            headers = [h for h in headers if h not in included]

        def compiles(header):
            return run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root}",
                       "-include", header, "-x", "c++", "/dev/null")

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = {header: pool.submit(compiles, header) for header in headers}
        for header, outcome in done.items():
            with self.subTest(header):
                outcome.result()

    def test_a_project_builds_with_cmake(self):
        build = self.folder / "with-cmake"
        run("cmake", "-S", HERE / "consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "consumer"), "2 rows at 6.5 ms\n")

    def test_a_project_builds_with_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "troupe",
                    env={"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig"), "PATH": "/usr/bin:/bin"}).split()
        program = self.folder / "with-pkg-config"
        run("c++", HERE / "consumer/main.cpp", "-o", program, *flags)
        self.assertEqual(run(program), "2 rows at 6.5 ms\n")


class Bundle(Folder):
    """`cpack -G TGZ`, unpacked somewhere."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "TGZ", "-B", cls.folder / "made")
        (cls.archive,) = (cls.folder / "made").glob("*.tar.gz")
        run("tar", "xf", cls.archive, "-C", cls.folder)
        (cls.root,) = cls.folder.glob("troupe-*")
        processes.PROGRAM = str(cls.root / "bin/troupe")

    def carried(self):
        return [f for f in (self.root / "lib/troupe").rglob("*.so*") if f.is_file()]

    def test_it_is_small(self):
        if any(f.name.startswith("libcublasLt") for f in self.carried()):
            self.skipTest("a build with CUDA, whose libraries are not")
        self.assertLessEqual(self.archive.stat().st_size / 2**20, MAX_MIB)

    def test_every_carried_library_comes_with_its_licence(self):
        licences = {f.name for f in (self.root / "share/doc/troupe/licences").iterdir() if f.stat().st_size > 0}
        for needed in ("libcaf-core0.17", "libucx0", "libdnnl2", "libprotobuf-dev", "libstdc++6", "libcapnp-0.9.2"):
            self.assertIn(needed, licences)

    def quickstart(self):
        """The quickstart's cluster file on free ports, beside it in the bundle, and its HTTP port."""
        examples = self.root / "share/troupe/examples/quickstart"
        text = (examples / "cluster.toml").read_text()
        http_port, *control_ports = free_ports(3)
        moved = dict(zip(("8080", "7701", "7702"), map(str, (http_port, *control_ports))))
        (examples / "moved.toml").write_text(re.sub(r"\b(8080|7701|7702)\b", lambda found: moved[found[0]], text))
        return examples / "moved.toml", http_port

    def test_it_serves_the_quickstart_with_its_own_libraries(self):
        file, http_port = self.quickstart()
        troupe = Process("up", str(file), env={"UCX_LOG_LEVEL": "error"})
        try:
            troupe.wait_line("^troupe: ready")
            self.assert_serves(http_port)
            for pid in [troupe.child.pid, *descendants(troupe.child.pid)]:
                self.assert_own_libraries(pid)
            self.assertEqual(troupe.terminate(), 0, troupe.output())
        finally:
            troupe.kill()

    def test_openvino_is_a_bundle_of_its_own(self):
        if not (BUILD / "libtroupe_openvino.so").exists():
            self.skipTest("a build without OpenVINO (tools/install --no-peers)")
        mlp = Fixture("mlp", self.root / "share/troupe/examples/quickstart/models")
        infer = (self.root / "bin/troupe", "infer", "--engine", "openvino", "--model-file", mlp.path, "--input",
                 mlp.path.with_suffix(".in.bin"), "--output", self.folder / "out.bin")
        without = subprocess.run(infer, capture_output=True, text=True)
        self.assertEqual(without.returncode, 2)
        self.assertIn("troupe-openvino", without.stderr)
        run("cpack", "--config", BUILD / "CPackOpenvino.cmake", "-B", self.folder / "openvino")
        (archive,) = (self.folder / "openvino").glob("troupe-openvino-*.tar.gz")
        whole = self.folder / "with-openvino"
        shutil.copytree(self.root, whole)
        run("tar", "xf", archive, "-C", whole)
        run(whole / "bin/troupe", *infer[1:], env={"PATH": "/usr/bin:/bin"})
        output = array.array("f", (self.folder / "out.bin").read_bytes())
        self.assertLessEqual(relative_l2(output, mlp.output), 1e-4)
        self.assertTrue(any((whole / "share/doc/troupe/licences/openvino").iterdir()))

    def test_it_needs_no_library_but_its_own_and_glibc(self):
        libraries = self.carried()
        own = {f.name for f in libraries}
        for file in (self.root / "bin/troupe", *libraries):
            needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", file)))
            strangers = {n for n in needed - own if not GLIBC.fullmatch(n) and not RDMA.fullmatch(n)}
            self.assertFalse(strangers, f"{file.name} needs them")

    def test_what_cudnn_opens_by_name_is_there(self):
        libraries = self.carried()
        cudnn = [f for f in libraries if f.name.startswith("libcudnn")]
        if not cudnn:
            self.skipTest("a build without cuDNN")
        opened = {name.decode() for f in cudnn
                  for name in re.findall(rb"\0(lib(?:cudnn_\w+|nvrtc)\.so)[.\d]*\0", f.read_bytes())}
        self.assertIn("libcudnn_graph.so", opened)
        self.assertIn("libnvrtc.so", opened)
        self.assertLessEqual(opened, {re.sub(r"[.\d]*$", "", f.name) for f in libraries})
        for f in cudnn:  # with their dependencies, from the right place
            run(sys.executable, "-c", f"import ctypes; ctypes.CDLL('{f}')", env={"PATH": "/usr/bin:/bin"})

    def test_it_serves_where_there_is_nothing_but_glibc(self):
        bare = self.bare_root()
        file, _ = self.quickstart()
        shutil.copytree(self.root, bare / "opt")
        shutil.rmtree(bare / "opt/share/troupe")  # as for users: a program and their own files
        shutil.copytree(file.parent, bare / "site")
        troupe = (*self.own_root(bare, 'exec chroot "$0" "$@"'), "/opt/bin/troupe")
        with self.subTest("infer"):
            run(*troupe, "infer", "--model-file", "/site/models/mlp.onnx", "--input", "/site/models/mlp.in.bin",
                "--output", "/out.bin")
            mlp = Fixture("mlp", bare / "site/models")
            output = array.array("f", (bare / "out.bin").read_bytes())
            self.assertLessEqual(relative_l2(output, mlp.output), 1e-4)
        for transports in ({}, {"UCX_TLS": "posix,cma,self"}, {"UCX_TLS": "tcp,self"}):
            with self.subTest("up", **transports):
                file, http_port = self.quickstart()
                shutil.copy(file, bare / "site")
                up = Process("up", "/site/moved.toml", env=transports, command=troupe)
                try:
                    up.wait_line("^troupe: ready")
                    self.assert_serves(http_port)
                    (inside,) = children(up.child.pid)
                    os.kill(inside, signal.SIGTERM)  # unshare itself would not forward it
                    self.assertEqual(up.wait(), 0, up.output())
                finally:
                    up.kill()

    @staticmethod
    def own_root(bare, script):
        """A command that runs the script with the machine's /sys and its own /proc mounted; further words are its
        arguments."""
        return ("unshare", "--map-root-user", "--pid", "--fork", f"--mount-proc={bare}/proc", "sh", "-c",
                f'mount --rbind /sys "$0/sys" && {script}', bare)

    def bare_root(self):
        """A folder for glibc, and for the usual mounts of a Linux."""
        bare = self.folder / "bare"
        for name in ("proc", "sys", "dev/shm", "tmp"):
            (bare / name).mkdir(parents=True)
        if subprocess.run(self.own_root(bare, "true"), capture_output=True).returncode != 0:
            print("\n*** NOT TESTED: the bundle in a root with nothing but glibc. This machine does not let us make one\n"
                  "*** (unshare --map-root-user). Only which libraries its files name was looked at.", file=sys.stderr)
            self.skipTest("this machine does not let us make a root of our own")
        for name in ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"):
            found = next(f for d in ("/lib64", "/lib/x86_64-linux-gnu") if (f := Path(d, name)).exists())
            target = bare / found.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, target)
        return bare

    def assert_serves(self, port):
        mlp = Fixture("mlp", self.root / "share/troupe/examples/quickstart/models")
        code, answer = self.infer(port, mlp)
        self.assertEqual(code, 200, answer)
        self.assertLessEqual(mlp.distance(answer), 1e-4)

    def infer(self, port, fixture):
        """Repeats until the answer is in time: the quickstart's deadline is short for a busy machine."""
        client = Cluster.__new__(Cluster)
        client.http_port = port
        client.told, client.lock = collections.Counter(), threading.Lock()
        end = time.monotonic() + PATIENCE
        while True:
            code, answer = client.infer(fixture.name, fixture.body(1))
            if code == 200 or time.monotonic() > end:
                return code, answer

    def assert_own_libraries(self, pid):
        mapped = {Path(words[5]) for words in map(str.split, Path(f"/proc/{pid}/maps").read_text().splitlines())
                  if len(words) > 5 and ".so" in words[5]}
        strangers = {f for f in mapped if not f.is_relative_to(self.root)
                     and not GLIBC.fullmatch(f.name) and not RDMA.fullmatch(f.name)}
        self.assertFalse(strangers, "from this machine, not from the bundle")
        self.assertTrue(any(f.name.startswith("libucp") for f in mapped), mapped)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main(argv=[word for word in sys.argv if word != "--every-header"], verbosity=2)
