"""Hosts in network namespaces, joined by a bridge: links are partitioned in one or both directions, connections are
reset. Everything belongs to a namespace of the test's own, which `in_own_namespaces` enters."""
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ENTERED = "TROUPE_TEST_OWN_NAMESPACES"
GATE = "10.77.0.1"  # the test's own address


def in_own_namespaces():
    """Runs the script again in new namespaces for the network, for mounts, and with a /dev/shm of its own. Returns whether
    it runs there: this machine may not permit it."""
    if os.environ.get(ENTERED):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
        return True
    missing = [p for p in ("unshare", "nsenter", "ip", "nft") if not shutil.which(p)]
    if missing:
        sys.exit(f"{sys.argv[0]}: needs {', '.join(missing)}: tools/install installs them")
    own = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    tried = subprocess.run([*own, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        return False
    os.environ[ENTERED] = "1"
    os.execvp("unshare", [*own, sys.executable, *sys.argv])


def _run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}\n{text or ''}"


class Network:
    """One host with the address `address[name]` and the device eth0 for each name. A context manager."""

    def __init__(self, names):
        self.address = {name: f"10.77.0.{10 + i}" for i, name in enumerate(names)}
        self.holders = {}  # name -> the process that keeps its namespace
        self.rules = set()  # (host, direction, address, verdict)
        self.lock = threading.Lock()

    def __enter__(self):
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "br0", "type", "bridge")
        _run("ip", "addr", "add", f"{GATE}/24", "dev", "br0")
        _run("ip", "link", "set", "br0", "up")
        own = os.readlink("/proc/self/ns/net")
        for i, (name, address) in enumerate(self.address.items()):
            holder = self.holders[name] = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
            while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                assert holder.poll() is None, f"no namespace for {name}"
                time.sleep(0.01)
            _run("ip", "link", "add", f"host{i}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            _run("ip", "link", "set", f"host{i}", "master", "br0", "up")
            _run(*self.inside(name), "ip", "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run(*self.inside(name), "ip", "link", "set", device, "up")
        return self

    def __exit__(self, *failure):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()

    def inside(self, name):
        """The beginning of a command that runs on this host."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net"]

    def partition(self, pairs):
        """Drops packets of (sender, receiver) pairs of hosts; returns what `heal` takes."""
        return self._add({(a, "out", self.address[b], "drop") for a, b in pairs})

    def cut(self, a, b, seconds=0.4):
        """Resets every TCP connection between two hosts on which a packet travels meanwhile: heartbeats do."""
        reset = "reject with tcp reset"
        added = self._add({(x, way, self.address[y], reset) for x, y in ((a, b), (b, a)) for way in ("in", "out")})
        time.sleep(seconds)
        self.heal(added)

    def heal(self, rules):
        with self.lock:
            self.rules -= rules
            self._apply({host for host, *_ in rules})

    def _add(self, rules):
        with self.lock:
            rules = rules - self.rules
            self.rules |= rules
            self._apply({host for host, *_ in rules})
        return rules

    def _apply(self, hosts):
        for host in hosts:
            lines = ["table inet chaos", "delete table inet chaos", "table inet chaos {"]
            for way, hook, side in (("in", "input", "saddr"), ("out", "output", "daddr")):
                lines += [f"chain {way}_packets {{", f"type filter hook {hook} priority 0; policy accept;"]
                lines += [f"ip {side} {address}{' meta l4proto tcp' if 'reset' in verdict else ''} {verdict}"
                          for on, w, address, verdict in sorted(self.rules) if (on, w) == (host, way)]
                lines += ["}"]
            _run(*self.inside(host), "nft", "-f", "-", text="\n".join([*lines, "}", ""]))


def shared_memory():
    """(files, bytes) in /dev/shm."""
    files = [p for p in Path("/dev/shm").rglob("*") if p.is_file()]
    return len(files), sum(p.stat().st_blocks * 512 for p in files)
