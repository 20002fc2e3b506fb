#!/usr/bin/env python3
"""A cluster on the IPv6 loopback."""
import json
import socket
import subprocess
import unittest

import cluster
import processes
from cluster import Cluster, ClusterTest
from processes import PATIENCE


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


class Ipv6(ClusterTest):
    @unittest.skipUnless(has_ipv6(), "this machine has no ::1")
    def test_the_url_that_a_gateway_tells_is_one_that_troupe_load_takes(self):
        with Cluster() as c:
            text = c.file.read_text()
            for name in ("head", "worker"):
                text = text.replace(f'name = "{name}"\n', f'name = "{name}"\nhost = "::1"\n')
            c.file.write_text(text)
            up = c.start()
            url = up.wait_line("ready").split()[-1]
            self.assertEqual(url, f"http://[::1]:{c.http_port}")
            load = subprocess.run([processes.PROGRAM, "load", url, "--rate", "20", "--duration", "1", "--json"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(load.returncode, 0, load.stderr)
            total = json.loads(load.stdout)["total"]
            self.assertGreater(total["finished"], 0)
            self.assertEqual(total["finished"], total["sent"])
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
