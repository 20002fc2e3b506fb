"""What a machine has that checks need."""
import glob
import os
import platform
import shutil
import subprocess

import libraries


def gpus():
    """[{name, capability, memory_mib, driver}]; empty without a driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    fields = ("name", "compute_cap", "memory.total", "driver_version")
    done = subprocess.run([program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    return [{"name": n, "capability": c, "memory_mib": m, "driver": d} for n, c, m, d in rows]


def sanitizer():
    """The path of compute-sanitizer, or nothing."""
    found = [shutil.which("compute-sanitizer"), *sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")),
             *sorted(glob.glob("/usr/local/cuda*/compute-sanitizer/compute-sanitizer"))]
    return next((f for f in found if f and os.access(f, os.X_OK)), None)


class Machine:
    """`missing` has the reason for each fact that checks may need and that does not hold."""

    def __init__(self, built_with):
        self.gpus = gpus()
        self.libraries = libraries.find()
        self.sanitizer = sanitizer()
        self.remarks = [r for name in libraries.LIBRARIES
                        if (r := libraries.remark(name, self.libraries, built_with.get(name)))]
        self.missing = {name: p for name in libraries.LIBRARIES if (p := libraries.problem(name, self.libraries))}
        if not self.gpus:
            self.missing["gpu"] = "there is no GPU that nvidia-smi shows"
        if not any(g["capability"].startswith("9.") for g in self.gpus):
            self.missing["hopper"] = "it takes a GPU of compute capability 9.0 (Hopper)"
        if len(self.gpus) < 2:
            self.missing["two gpus"] = "it takes two GPUs"
        if self.sanitizer is None:
            self.missing["compute-sanitizer"] = "there is no compute-sanitizer; it comes with the CUDA toolkit"

    def why_not(self, check):
        """Why the check cannot run here, or nothing."""
        return next((self.missing[need] for need in check.needs if need in self.missing), None)

    def document(self):
        return {"gpus": self.gpus, "libraries": self.libraries, "compute_sanitizer": self.sanitizer,
                "remarks": self.remarks, "cpus": os.cpu_count(), "kernel": platform.release(),
                "python": platform.python_version()}
