#!/usr/bin/env python3
"""The sockets of a cluster whose file names no host: loopback addresses only, and none of the data lane."""
import ipaddress
import os
import re
import signal
import subprocess
import unittest.mock
from pathlib import Path

import cluster
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, free_ports

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


def listening_ports(pid):
    """The TCP ports that this process listens at, from /proc."""
    links = [os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir()]
    inodes = {m[1] for m in map(re.compile(r"socket:\[(\d+)\]").fullmatch, links) if m}
    rows = [row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()]
    return {int(row[1].rsplit(":")[-1], 16) for row in rows if row[3] == "0A" and row[9] in inodes}


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


class DataPorts(ClusterTest):
    def test_a_killed_node_takes_another_port_of_its_range(self):
        mlp = Fixture("mlp")
        with Cluster(env={"UCX_TLS": "tcp,self"}) as c:
            first = free_ports(1)[0]
            ports = range(first, first + 8)
            c.file.write_text(c.file.read_text().replace(
                'name = "worker"', f'name = "worker"\ndata_port = "{ports.start}-{ports.stop - 1}"'))
            up = c.start()
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            worker = up.pid_of("worker")
            before = listening_ports(worker) & set(ports)
            self.assertEqual(len(before), 1)
            os.kill(worker, signal.SIGKILL)
            c.wait_until_served(mlp)
            self.assertNotEqual(up.pid_of("worker"), worker)
            self.assertEqual(len(listening_ports(up.pid_of("worker")) & set(ports)), 1)
            self.assertEqual(up.terminate(), 0)


class OneHost(ClusterTest):
    def test_the_data_lane_of_a_cluster_on_one_host_listens_at_no_port(self):
        mlp = Fixture("mlp")
        with Cluster() as c, unittest.mock.patch.dict(os.environ):
            os.environ.pop("UCX_TLS", None)
            control = [int(p) for p in re.findall(r"control_port = (\d+)", c.file.read_text())]
            up = c.start()
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assertGreater(c.metric("troupe_fabric_bytes_pulled_total"), 0)
            self.assertEqual(listening_ports(up.pid_of("head")) | listening_ports(up.pid_of("worker")),
                             {c.http_port, *control})
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
