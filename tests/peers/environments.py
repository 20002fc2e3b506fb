"""Virtual environments of the peers, with the packages of requirements/NAME.txt."""
import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


class NotInstalled(Exception):
    pass


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotInstalled((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def install(name, folder):
    """The Python program of a peer's environment, which is made anew if the list of its packages has changed."""
    wanted, environment = HERE / "requirements" / f"{name}.txt", Path(folder, name).absolute()
    python, installed = environment / "bin/python", environment / "requirements.txt"
    if not (installed.exists() and filecmp.cmp(wanted, installed, shallow=False)):
        print(f"installing the packages of {wanted.relative_to(HERE)} into {environment}", file=sys.stderr, flush=True)
        run("/usr/bin/python3", "-m", "venv", "--clear", environment)
        run(python, "-m", "pip", "install", "--quiet", "--requirement", wanted)
        shutil.copy(wanted, installed)
    return python


def version_of(package, python):
    return run(python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))").strip()


def version_of_troupe(program):
    return run(program, "--version").split()[-1]
