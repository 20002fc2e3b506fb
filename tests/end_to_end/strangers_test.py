#!/usr/bin/env python3
"""Malicious clients on a control port without certificates, and on HTTP."""
import contextlib
import gzip
import json
import socket
import time

import cluster
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import MEASURED, MEMORY_FACTOR, PATIENCE, eventually, resident_mb, run


class Strangers(ClusterTest):
    def test_a_control_connection_that_announces_too_much_is_cut_off(self):
        with Cluster(env=MEASURED) as c:
            up = c.start()
            port = json.loads(run("config", "dump", c.file, "--json")[1])["node"][0]["control_port"]["value"]
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
                # BASP header: operation, two bytes, flags, payload length, operation data, two actor ids
                s.sendall(bytes([1, 0, 0, 0]) + (0xF0000000).to_bytes(4, "big") + (4).to_bytes(8, "big") + bytes(16))
                with contextlib.suppress(OSError):
                    while s.recv(65536):
                        pass
            self.assertTrue(eventually(lambda: "control_connection_cut" in up.output()))
            mb = resident_mb(up.pid_of("head"))
            self.assertLess(mb, 2000 * MEMORY_FACTOR)
            self.assertTrue(c.status()["ready"])
            self.assertEqual(c.infer("mlp", Fixture("mlp").body(1))[0], 200)

    def test_a_control_connection_that_says_nothing_is_cut_off(self):
        with Cluster() as c:
            up = c.start()
            port = json.loads(run("config", "dump", c.file, "--json")[1])["node"][0]["control_port"]["value"]
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
                while s.recv(65536):  # the greeting; then the end
                    pass
            self.assertTrue(eventually(lambda: "reason=\"silent for 4 s\"" in up.output()))
            self.assertEqual(up.output().count("control_connection_cut"), 1, "those between the nodes stay")
            self.assertTrue(c.status()["ready"])

    def test_slow_large_and_many_requests_harm_nobody(self):
        mlp = Fixture("mlp")
        with Cluster(env=MEASURED) as c:
            up = c.start()
            slow = []
            try:
                for _ in range(300):
                    s = socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE)
                    s.sendall(b"POST /v2/models/mlp/infer HTTP/1.1\r\nHost: x\r\nContent-Le")
                    slow.append(s)
                with socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE) as s:
                    with contextlib.suppress(OSError):
                        s.sendall(b"GET /v2 HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"y" * (1 << 20) + b"\r\n\r\n")
                    self.assertRegex(s.recv(64).decode(errors="replace"), r"HTTP/1\.1 4(31|00)")
                bomb = gzip.compress(bytes(200 << 20))
                status = c.ask("POST", "/v2/models/mlp/infer", bomb, headers={"Content-Encoding": "gzip"})[0]
                self.assertIn(status, (400, 413, 415))
                began = time.monotonic()
                self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
                self.assertLess(time.monotonic() - began, 10)
                mb = resident_mb(up.pid_of("head"))
                self.assertLess(mb, 1000 * MEMORY_FACTOR)
                self.assertIn(b"408", slow[0].recv(64))  # finally they are disconnected with an answer
            finally:
                for s in slow:
                    s.close()
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
