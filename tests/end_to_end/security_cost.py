#!/usr/bin/env python3
"""The cost of keys and certificates: CPU time a request of two clusters in turns, one with and one without them.

    tests/end_to_end/security_cost.py [build/dev/troupe] [--requests 2000]
"""
import argparse
import http.client
import statistics
import sys
from pathlib import Path

import processes
from certificates_test import certify
from cluster import Cluster
from fixtures import Fixture
from processes import PATIENCE
from tenants_test import ADS

ROUNDS = 10


def cpu_seconds(pids):
    """Of all threads, to the nanosecond."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


class Side:
    def __init__(self, c, up, key):
        self.pids = [up.pid_of("head"), up.pid_of("worker")]
        self.connection = http.client.HTTPConnection("127.0.0.1", c.http_port, timeout=PATIENCE)
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.costs = []

    def ask(self, body, requests):
        before = cpu_seconds(self.pids)
        for _ in range(requests):
            self.connection.request("POST", "/v2/models/mlp/infer", body, self.headers)
            response = self.connection.getresponse()
            text = response.read()
            assert response.status == 200, text
        self.costs.append((cpu_seconds(self.pids) - before) / requests)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=processes.PROGRAM)
    parser.add_argument("--requests", type=int, default=2000, help="of each cluster")
    options = parser.parse_args()
    processes.PROGRAM = options.program
    body = Fixture("mlp").body(1)
    with Cluster() as plain, Cluster() as guarded:
        guarded.file.write_text(guarded.file.read_text() + f'[[tenant]]\nname = "ads"\nkey = "{ADS}"\nrate_rps = 1e6\n')
        certify(guarded)
        sides = [Side(plain, plain.start(), None), Side(guarded, guarded.start(), ADS)]
        for side in sides:
            side.ask(body, 50)
            side.costs.clear()
        for _ in range(ROUNDS):
            for side in sides:
                side.ask(body, options.requests // ROUNDS)
    without, with_them = (statistics.median(s.costs) * 1e6 for s in sides)
    print(f"CPU a request, both processes: {without:.0f} µs without, {with_them:.0f} µs with keys and certificates, "
          f"ratio {with_them / without:.2f}")


if __name__ == "__main__":
    sys.exit(main())
