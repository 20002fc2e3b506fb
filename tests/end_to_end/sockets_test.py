#!/usr/bin/env python3
"""The sockets of a cluster whose file names no host: loopback addresses only."""
import ipaddress
import re
import subprocess

import cluster
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE

LOOPBACK = {"127.0.0.1", "::1"}


def tcp_sockets(pids, listening):
    """(pid, own address, peer's address) of the TCP sockets of these processes."""
    done = subprocess.run(["ss", "-Htnp", *(["-l"] if listening else ["state", "established"])], capture_output=True,
                          text=True, timeout=PATIENCE, check=True)
    found = []
    for line in done.stdout.splitlines():
        own, peer = re.search(r"(\S+):(?:\d+)\s+(\S+):(?:\d+|\*)", line).groups()
        found += [(int(p), own.strip("[]"), peer.strip("[]")) for p in re.findall(r"pid=(\d+)", line) if int(p) in pids]
    return found


def has_another_address():
    """Whether this machine has another address, to which a socket could be bound by mistake."""
    text = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    return any(not ipaddress.ip_interface(a).is_loopback for a in re.findall(r"inet6? (\S+)", text))


class Sockets(ClusterTest):
    def setUp(self):
        if not has_another_address():
            self.skipTest("this machine has no address but loopback's")

    def check(self, change=lambda text: text):
        mlp = Fixture("mlp")
        with Cluster(env={"UCX_TLS": "tcp"}) as c:  # shared memory has no sockets
            c.file.write_text(change(c.file.read_text()))
            up = c.start()
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            nodes = {up.pid_of("head"), up.pid_of("worker")}
            self.assertEqual(len(nodes), 2)
            listening = tcp_sockets(nodes, True)
            for node in nodes:  # at least its control port and its data lane
                self.assertGreaterEqual(len([s for s in listening if s[0] == node]), 2, listening)
            self.assertLessEqual({own for _, own, _ in listening}, LOOPBACK, listening)
            connections = tcp_sockets(nodes, False)
            for node in nodes:  # control and data
                self.assertGreaterEqual(len([s for s in connections if s[0] == node]), 2, connections)
            self.assertLessEqual({a for _, *both in connections for a in both}, LOOPBACK, connections)
            self.assertEqual(up.terminate(), 0)

    def test_by_default(self):
        self.check()

    def test_with_the_data_lane_bound_to_a_named_interface(self):
        self.check(lambda text: text.replace("control_port", 'data_interface = "lo"\ncontrol_port'))

    def test_an_interface_that_is_not_there_is_an_error(self):
        with Cluster(env={"UCX_TLS": "tcp"}) as c:
            c.file.write_text(c.file.read_text().replace("control_port", 'data_interface = "nosuch0"\ncontrol_port'))
            up = c.start("--node", "head", ready=None)
            self.assertNotEqual(up.wait(), 0)
            self.assertIn("nosuch0", up.output())


if __name__ == "__main__":
    cluster.main()
