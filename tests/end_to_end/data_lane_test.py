#!/usr/bin/env python3
"""A data lane over TLS: requests, restarts on a fixed port, and strangers at that port."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import cluster
from certificates_test import certify
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, eventually, free_ports


def over_tls(c):
    """Certificates and a fixed data port for every node; returns the folder and the ports, in the order of the file."""
    certs = certify(c)
    text = c.file.read_text()
    ports = free_ports(text.count("control_port"))
    head, *nodes = text.split("control_port")
    text = head + "".join(f"data_port = {port}\ncontrol_port{node}" for port, node in zip(ports, nodes))
    c.file.write_text(text + '[data_lane]\ntransport = "tls"\n')
    return certs, ports


class OverTls(ClusterTest):
    def test_requests_are_answered_and_a_killed_worker_returns_on_its_port(self):
        mlp = Fixture("mlp")
        with Cluster() as c:
            over_tls(c)
            up = c.start()
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assertGreater(c.metric("troupe_fabric_bytes_pulled_total"), 0)
            for _ in range(3):
                worker = up.pid_of("worker")
                os.kill(worker, signal.SIGKILL)
                self.assertTrue(eventually(lambda: up.pid_of("worker") not in (worker, up.child.pid)))
                c.wait_until_served(mlp)
            self.assertNotIn("in use", up.output(), "its port is free at once")
            self.assertEqual(up.terminate(), 0)

    def test_strangers_change_nothing_and_end_nothing(self):
        mlp = Fixture("mlp")
        with Cluster() as c:
            certs, ports = over_tls(c)
            up = c.start()
            before = [up.pid_of("head"), up.pid_of("worker")]
            stranger = Path(__file__).with_name("data_port_stranger.py")
            strangers = []
            for port in ports:
                # Whoever has a certificate, but has never met the cluster, knows no secret.
                for count, certificate in ((5000, ()), (500, (certs / "operator.pem", certs / "operator.key"))):
                    strangers.append(subprocess.Popen([sys.executable, stranger, str(port), str(count), str(port), *certificate],
                                                      stdout=subprocess.PIPE, text=True))
            while any(s.poll() is None for s in strangers):
                self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            for s in strangers:
                self.assertIn(s.communicate(timeout=PATIENCE)[0].strip(), ("5000", "500"))
            self.assertIn("data_connection_refused", up.output())
            self.assertEqual([up.pid_of("head"), up.pid_of("worker")], before)
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
