#!/usr/bin/env python3
"""The bundle for a machine with a GPU and nothing else of ours: its files, and how it is made.

    bundle.py CUDA-BUILD KERNELS-BUILD RANDOM-MODELS ARCHIVE

A bundle has the folders of the sources (tools/gpu, tests/end_to_end, tests/fixtures, ...), so that everything finds its
files in the same way; programs are in bin/, libraries of Debian in lib/troupe (where `troupe` looks), and in lib/stubs
stubs of NVIDIA's libraries, with which programs start on machines that lack one of them."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import libraries

ROOT = Path(__file__).resolve().parents[2]
FROM_CUDA = ("troupe", "cuda_device_tests", "cuda_tensor_device_tests", "gpu_model_runner", "gpu_gap_bench")
FROM_KERNELS = ("gpu_tests", "gpu_bench", "gpu_share_bench")
SCRIPTS = {"recorded_models": "tests/gpu/onnx/recorded_models.py", "device_cluster": "tests/end_to_end/device_cluster.py"}
CARRIED = ("tools/gpu", "tests/gpu/onnx/recorded_models.py", "tests/gpu/onnx/model_process.py", "tests/fixtures",
           "tests/end_to_end/device_cluster.py", "tests/end_to_end/cluster.py", "tests/end_to_end/fixtures.py",
           "tests/end_to_end/processes.py", "LICENSE")
GLIBC = re.compile(r"(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv)\.so)")
NVIDIA = re.compile("|".join(re.escape(file) for file, _ in libraries.LIBRARIES.values()))
MAX_MIB = 60


class Files:
    """Where programs and files are: in this bundle, or in a build folder of the sources."""

    def __init__(self, build=None):
        self.root, self.build = ROOT, build and build.resolve()

    def path(self, name):
        """Raises FileNotFoundError, with what to do."""
        if name in SCRIPTS:
            return ROOT / SCRIPTS[name]
        if name == "random_models":
            path = (self.build or ROOT) / "random_models.bin"
        elif self.build:
            path = next((f for f in self.build.rglob(name) if f.is_file() and os.access(f, os.X_OK)), self.build / name)
        else:
            path = ROOT / "bin" / name
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        return path

    def manifest(self):
        path = ROOT / "manifest.json"
        if self.build or not path.exists():
            return {"version": "of the sources", "built_with": {}}
        return json.loads(path.read_text())

    def environment(self, machine):
        found = [os.path.dirname(x["path"]) for x in machine.libraries.values()]
        search = dict.fromkeys([*found, str(ROOT / "lib" / "stubs")])
        more = {} if self.build else {"LD_LIBRARY_PATH": ":".join(search)}
        return {**os.environ, **more, "TROUPE_FIXTURES": str(ROOT / "tests" / "fixtures"), "UCX_LOG_LEVEL": "error"}


def run(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def needed_libraries(program):
    """{file name: path} of the libraries that a program needs and a machine need not have."""
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", run("ldd", program), re.MULTILINE):
        if path == "not":
            raise SystemExit(f"bundle: {program} needs {name}, which is not here")
        if not GLIBC.match(name) and not NVIDIA.fullmatch(name):
            found[name] = Path(path)
    return found


def copy_stripped(source, target):
    shutil.copy2(source, target)
    target.chmod(0o755)
    run("strip", "--strip-unneeded", target)


def add_libraries(bin_folder, lib):
    ucx = set()
    for program in sorted(bin_folder.iterdir()):
        for name, path in needed_libraries(program).items():
            if not (lib / name).exists():
                copy_stripped(path.resolve(), lib / name)
            if name.startswith("libucs.so"):  # loads its transports from the folder ucx beside it
                ucx.update(path.resolve().parent.glob("ucx/libuct_*.so.0"))
    (lib / "ucx").mkdir()
    for transport in ucx:
        copy_stripped(transport.resolve(), lib / "ucx" / transport.name)


def add_stubs(bin_folder, stubs):
    """Each function that programs take from NVIDIA's libraries, as one that fails."""
    functions = set()
    for program in bin_folder.iterdir():
        functions.update(re.findall(r" U ((?:cublas|cudnn|nccl)\w+)", run("nm", "--dynamic", "--undefined-only", program)))
    prefixes = {"cublaslt": "cublasLt", "cublas": "cublas", "cudnn": "cudnn", "nccl": "nccl"}
    stubs.mkdir()
    for name, (file, _) in libraries.LIBRARIES.items():
        mine = sorted(f for f in functions if f.startswith(prefixes[name])
                      and not (name == "cublas" and f.startswith("cublasLt")))
        source = "".join(f'const char* {f}(void) {{ return "the library is missing"; }}\n' if f.endswith("String")
                         else f"int {f}(void) {{ return 1; }}\n" for f in mine)
        with tempfile.TemporaryDirectory() as folder:
            c, versions = Path(folder, "stub.c"), Path(folder, "versions")
            c.write_text(source)
            versions.write_text(file + " { *; };\n")  # NVIDIA's symbols have the library's name as their version
            run("gcc", "-shared", "-fPIC", "-s", "-o", stubs / file, f"-Wl,-soname,{file}",
                f"-Wl,--version-script={versions}", c)


def fill(root, programs):
    """Makes the folders of a bundle with these programs (paths)."""
    for folder in ("bin", "lib/troupe"):
        (root / folder).mkdir(parents=True)
    for program in programs:
        copy_stripped(program, root / "bin" / program.name)
    add_libraries(root / "bin", root / "lib/troupe")
    add_stubs(root / "bin", root / "lib/stubs")
    for path in CARRIED:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / path, target)
    (root / "run").symlink_to("tools/gpu/run.py")
    built_with = {name: found["version"] for name, found in libraries.find().items()}
    version = run(root / "bin/troupe", "--version").strip()
    (root / "manifest.json").write_text(json.dumps({"version": version, "built_with": built_with}, indent=1) + "\n")


def make(cuda, kernels, random_models, archive):
    programs = [Files(build).path(name) for build, names in ((cuda, FROM_CUDA), (kernels, FROM_KERNELS)) for name in names]
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "gpu_check"
        fill(root, programs)
        shutil.copy2(random_models, root / "random_models.bin")
        with tarfile.open(archive, "w:xz", preset=6) as tar:
            tar.add(root, root.name)
    mib = os.path.getsize(archive) / 2**20
    print(f"{archive}: {mib:.1f} MiB")
    if mib > MAX_MIB:
        raise SystemExit(f"bundle: it is larger than {MAX_MIB} MiB")


if __name__ == "__main__":
    make(*map(Path, sys.argv[1:]))
