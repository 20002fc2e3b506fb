"""Processes of the program under test, named by TROUPE_PROGRAM: started, watched, and killed in the end."""
import collections
import contextlib
import errno
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

PROGRAM = os.environ.get("TROUPE_PROGRAM", str(Path(__file__).resolve().parents[2] / "build/dev/troupe"))
SANITIZER = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
# Seconds for an operation of usually less than one: the machine may be very busy, and ThreadSanitizer is slow.
PATIENCE = 400 if "TSAN_OPTIONS" in SANITIZER else 120


def run(*arguments, patience=PATIENCE, **environment):
    """(exit code, standard output, standard error) of a `troupe` command."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=patience,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def without_log(text):
    """The messages in what nodes wrote to standard error, where their logs go, too."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("time="))


def eventually(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


_ports_reserved = []


def free_ports(n):
    """Ports without a listener, below the kernel's range for outgoing connections: with thousands of connections
    of other tests, one of those would be taken before the test listens on it. Tests that run at the same time get
    different ones: an abstract Unix socket that has the port's number for a name reserves it until this process ends."""
    given = []
    while len(given) < n:
        port = random.randrange(12000, 32000)
        reserved = socket.socket(socket.AF_UNIX)
        try:
            reserved.bind(f"\0troupe-test-port-{port}")
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", port))
        except OSError as e:
            reserved.close()
            if e.errno != errno.EADDRINUSE:
                raise
            continue
        _ports_reserved.append(reserved)
        given.append(port)
    return given


# Clusters that keep up with a load only in an ordinary build make their times longer by it, and their rates lower.
SLOWDOWN = 5 if "TSAN_OPTIONS" in SANITIZER else 1
# Environment of clusters whose memory is measured: AddressSanitizer keeps up to 256 MB of freed memory otherwise.
MEASURED = {"ASAN_OPTIONS": "quarantine_size_mb=8"}
# Bytes of memory for each byte in use: ThreadSanitizer keeps a shadow of four times the size.
MEMORY_FACTOR = 5 if "TSAN_OPTIONS" in SANITIZER else 1


def resident_mb(pid):
    """Memory of a process in use, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def descendants(pid):
    """The living descendants of `pid`."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child] + descendants(child)
    return found


def cut_connections(pid, others):
    """Resets established TCP connections between these processes; False if the kernel does not allow it."""
    try:
        listed = subprocess.run(["ss", "-Htnp", "state", "established"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return False
    ends = collections.defaultdict(set)  # (local, peer) -> pids
    for line in listed.splitlines():
        found = re.search(r"(\S+:\d+)\s+(\S+:\d+).*", line)
        if found:
            ends[found[1], found[2]] |= {int(p) for p in re.findall(r"pid=(\d+)", line)}
    done = False
    for (local, peer), pids in ends.items():
        if pid in pids and ends.get((peer, local), set()) & others:
            host, port = local.rsplit(":", 1)
            peer_host, peer_port = peer.rsplit(":", 1)
            killed = subprocess.run(["ss", "-HKtn", "src", host, "sport", f"= :{port}", "dst", peer_host, "dport",
                                     f"= :{peer_port}"], capture_output=True, text=True)
            done = done or (killed.returncode == 0 and bool(killed.stdout.strip()))
    return done


class Process:
    """A `troupe` process whose output lines are read as they come, and which does not outlive its test. `command`
    starts it in another way."""

    def __init__(self, *arguments, env=None, command=None):
        self.arguments = arguments
        self.child = subprocess.Popen([*(command or [PROGRAM]), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env={**os.environ, **(env or {})})
        self.lines = {"stdout": [], "stderr": []}
        self.news = threading.Condition()
        self.readers = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                        for name, stream in (("stdout", self.child.stdout), ("stderr", self.child.stderr))]
        for reader in self.readers:
            reader.start()

    def _read(self, name, stream):
        for line in stream:
            with self.news:
                self.lines[name].append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def output(self):
        return "\n".join(self.lines["stdout"] + self.lines["stderr"])

    def wait_error(self, text):
        """Waits until a line of standard error contains the text."""
        end = time.monotonic() + PATIENCE
        while not any(text in line for line in self.lines["stderr"]):
            if time.monotonic() > end:
                raise AssertionError(f"troupe {' '.join(self.arguments)}: never said '{text}':\n{self.output()}")
            time.sleep(0.02)

    def wait_node(self, node):
        """Waits until a node has a process other than this one; returns it."""
        end = time.monotonic() + PATIENCE
        while (pid := self.pid_of(node)) == self.child.pid:
            assert time.monotonic() < end, f"node {node} has no process"
            time.sleep(0.02)
        return pid

    def wait_line(self, pattern):
        """The first line of standard output that matches."""
        end = time.monotonic() + PATIENCE
        with self.news:
            while True:
                for line in self.lines["stdout"]:
                    if re.search(pattern, line):
                        return line
                over = self.child.poll() is not None and not any(r.is_alive() for r in self.readers)
                if over or time.monotonic() > end:
                    raise AssertionError(f"troupe {' '.join(self.arguments)}: no line '{pattern}'"
                                         f"{', it has ended' if over else ''}:\n{self.output()}")
                self.news.wait(0.1)

    def pid_of(self, node):
        """The process of a node: this one, or a child of it."""
        for pid in descendants(self.child.pid):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"--node" in words and words[words.index(b"--node") + 1] == node.encode():
                    return pid
        return self.child.pid

    def wait(self):
        code = self.child.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
        return code

    def terminate(self):
        """Sends SIGTERM; returns the exit code."""
        self.child.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        for pid in [self.child.pid, *descendants(self.child.pid)]:
            for s in (signal.SIGCONT, signal.SIGKILL):
                with contextlib.suppress(OSError):
                    os.kill(pid, s)
        self.wait()
        for stream in (self.child.stdout, self.child.stderr):
            stream.close()
