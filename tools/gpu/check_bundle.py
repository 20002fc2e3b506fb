#!/usr/bin/env python3
"""Starts each program of a bundle where there is nothing but glibc and NVIDIA's libraries: check_bundle.py ARCHIVE.

The root of the file system is an empty folder. Without a GPU a program comes as far as its first CUDA call, whose error
is the driver's. Needs the right to mount (root, or user namespaces)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import checks
import libraries

DRIVER = r"cudaErrorInsufficientDriver|cudaErrorNoDevice"
PASSED = r"test cases: 1 \| 1 passed"  # of a test that wants the driver's error
FIXTURE = "/gpu_check/tests/fixtures/onnx/mlp"
# program: arguments, and what it says at its first CUDA call; the last one makes none before it has a request
STARTS = {
    "gpu_tests": (["--test-case=lora kernel: one row"], DRIVER),
    "cuda_device_tests": (["--test-case=cuda engine: an absent GPU*"], PASSED),
    "cuda_tensor_device_tests": (["--test-case=cuda device: an absent GPU*"], PASSED),
    "gpu_bench": ([], DRIVER),
    "gpu_share_bench": ([], DRIVER),
    "gpu_gap_bench": ([], DRIVER),
    "troupe": (["infer", "--device", "cuda", "--model-file", f"{FIXTURE}.onnx", "--input", f"{FIXTURE}.in.bin", "--output",
                "/tmp/out"], DRIVER),
    "gpu_model_runner": ([], r"^$"),
}
GLIBC = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2")


def empty_root(root, with_libraries):
    """Copies glibc, and returns the folders of NVIDIA's libraries, which are mounted."""
    for folder in ("lib64", "tmp", "proc", "dev"):
        (root / folder).mkdir()
    for name in GLIBC:
        found = next(p for p in (Path("/lib64", name), Path("/lib/x86_64-linux-gnu", name)) if p.exists())
        (root / "lib64" / name).write_bytes(found.read_bytes())
        (root / "lib64" / name).chmod(0o755)
    found = libraries.find() if with_libraries else {}
    return sorted({os.path.realpath(os.path.dirname(x["path"])) for x in found.values()})


def start(root, mounts, words):
    """(exit code, output) of a program in that root."""
    script = ["set -e"]
    for folder in mounts:
        script += [f"mkdir -p '{root}{folder}'", f"mount --bind '{folder}' '{root}{folder}'"]
    script += [f"mount --rbind /{folder} '{root}/{folder}'" for folder in ("dev", "proc")]  # $ORIGIN needs /proc
    search = ":".join(["/lib64", *mounts, "/gpu_check/lib/stubs"])
    quoted = " ".join(f"'{w}'" for w in words)
    script.append(f"exec env -i LD_LIBRARY_PATH='{search}' TROUPE_FIXTURES=/gpu_check/tests/fixtures "
                  f"{shutil.which('chroot') or '/usr/sbin/chroot'} '{root}' {quoted}")
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(["unshare", "--mount", *user, "sh", "-c", "\n".join(script)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def check_tests(root, mounts):
    """Each test case is in exactly one check of the list."""
    failed = 0
    for program in ("gpu_tests", "cuda_device_tests", "cuda_tensor_device_tests"):
        _, said = start(root, mounts, [f"/gpu_check/bin/{program}", "--list-test-cases", "--no-version", "--no-colors"])
        tests = [line for line in said.splitlines() if not line.startswith(("[doctest]", "===="))]
        for test in tests:
            if len(found := checks.holders(program, test)) != 1:
                failed += 1
                print(f"{program}: WRONG: '{test}' is in {len(found)} checks: {', '.join(c.name for c in found)}")
        print(f"{program}: {len(tests)} test cases")
        failed += not tests
    return failed


def check(archive, with_libraries):
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        with tarfile.open(archive) as tar:
            tar.extractall(root)
        mounts = empty_root(root, with_libraries)
        programs = sorted(p.name for p in (root / "gpu_check/bin").iterdir())
        version = json.loads((root / "gpu_check/manifest.json").read_text())["version"]
        for name in programs:
            arguments, wanted = STARTS[name]
            _, said = start(root, mounts, [f"/gpu_check/bin/{name}", *arguments])
            right = re.search(wanted, said)
            failed += not right
            print(f"{name}: {'starts' if right else 'WRONG: ' + said[-2000:]}")
        failed += check_tests(root, mounts)
        code, said = start(root, mounts, ["/gpu_check/bin/troupe", "--version"])
        failed += said.strip() != version
        print(f"troupe {said.strip()}, exit code {code}")
    return failed


def main(archive):
    failed = 0
    for with_libraries in (True, False):
        print("with NVIDIA's libraries" if with_libraries else "with stubs of NVIDIA's libraries")
        failed += check(archive, with_libraries)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
