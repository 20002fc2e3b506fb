"""NVIDIA's libraries: too large to carry, so they are those of the machine's CUDA toolkit or of Python packages, as
PyTorch installs them."""
import ctypes
import glob
import os
import re
import site
import subprocess
import sys
from pathlib import Path

# name: file, and the function that returns its version
LIBRARIES = {
    "cublaslt": ("libcublasLt.so.13", "cublasLtGetVersion"),
    "cublas": ("libcublas.so.13", None),
    "cudnn": ("libcudnn.so.9", "cudnnGetVersion"),
    "nccl": ("libnccl.so.2", "ncclGetVersion"),
}


def folders():
    """Folders that may have them, best first."""
    found = [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    found += [os.path.join(os.environ[name], "lib64") for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ]
    found += sorted(glob.glob("/usr/local/cuda*/lib64") + glob.glob("/usr/local/cuda*/targets/*/lib"))
    packages = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for p in packages:
        found += sorted(glob.glob(f"{p}/nvidia/*/lib")) + glob.glob(f"{p}/torch/lib")
    found += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
    return [f for f in dict.fromkeys(found) if os.path.isdir(f)]


def version_text(number):
    """All of them count 130102 as 13.1.2."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def version_of(name, path, search):
    """The version that the library reports itself; loaded in a process of its own, as it is large."""
    function = LIBRARIES[name][1]
    if function is None:
        return None
    done = subprocess.run([sys.executable, __file__, name, path], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_LIBRARY_PATH": ":".join(search)})
    number = re.search(r"^\d+$", done.stdout, re.MULTILINE)
    return version_text(int(number[0])) if number else None


def find():
    """name → {path, version}; without those that are not there. cuBLAS has the version of cuBLASLt."""
    search, found = folders(), {}
    for name, (file, _) in LIBRARIES.items():
        for folder in search:
            if (path := Path(folder, file)).exists():
                found[name] = {"path": str(path), "version": version_of(name, str(path), search)}
                break
    if "cublas" in found and "cublaslt" in found:
        found["cublas"]["version"] = found["cublaslt"]["version"]
    return found


def problem(name, found):
    """Why it cannot be used, or nothing."""
    if name not in found:
        return (f"there is no {LIBRARIES[name][0]}: install the CUDA toolkit 13 (cuDNN and NCCL come apart), or PyTorch "
                "for CUDA 13")
    if LIBRARIES[name][1] and found[name]["version"] is None:
        return f"{found[name]['path']} cannot be loaded"
    return None


def remark(name, found, built):
    """That it is older than the one of the build (which may still work), or nothing."""
    have = found.get(name, {}).get("version")
    if have and built and tuple(map(int, have.split("."))) < tuple(map(int, built.split("."))):
        return f"{found[name]['path']} has version {have}, older than {built}, with which the programs were built"
    return None


def main(name, path):
    function = getattr(ctypes.CDLL(path), LIBRARIES[name][1])
    if name == "nccl":
        number = ctypes.c_int()
        function(ctypes.byref(number))
        print(number.value)
    else:
        function.restype = ctypes.c_size_t
        print(function())


if __name__ == "__main__":
    main(*sys.argv[1:])
