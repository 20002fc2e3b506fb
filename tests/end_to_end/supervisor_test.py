#!/usr/bin/env python3
"""`troupe up` and its nodes go on without anyone who reads what they say; commands notice a full disk."""
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import ROOT, Fixture
from processes import PATIENCE, Process, eventually, run

QUICKSTART = ROOT / "examples/quickstart"


def redirected(redirection):
    """The program with such a redirection of a shell."""
    return ["bash", "-c", f'exec "$0" "$@" {redirection}', processes.PROGRAM]


class Supervisor(ClusterTest):
    def check_cluster(self, redirection):
        """A node that dies is started again, whatever the standard streams are."""
        mlp = Fixture("mlp")
        with Cluster() as c:
            up = Process("up", str(c.file), "--verbose", command=redirected(redirection))
            c.processes.append(up)
            self.assertEqual(run("status", c.file, "--wait", "ready", PATIENCE)[0], 0)
            for victim in ("worker", "head"):
                before = up.pid_of(victim)
                os.kill(before, signal.SIGKILL)
                self.assertTrue(eventually(lambda: up.pid_of(victim) not in (up.child.pid, before)))
                self.assertEqual(run("status", c.file, "--wait", "ready", PATIENCE)[0], 0)
                c.wait_until_served(mlp)
            self.assertIsNone(up.child.poll())
            self.assertEqual(up.terminate(), 0)

    def test_a_full_disk(self):
        self.check_cluster("2>/dev/full")

    def test_closed_descriptors(self):
        self.check_cluster("0<&- 1>&- 2>&-")

    def test_a_reader_of_the_log_that_ends_after_the_first_line(self):
        self.check_cluster("2> >(head -1 >/dev/null) 1>&2")


class SharedMemory(ClusterTest):
    def test_a_start_removes_what_killed_processes_left(self):
        left = Path(f"/dev/shm/ucx_shm_posix_{os.getpid():x}abcdef")
        left.write_bytes(b"x" * 4096)
        os.utime(left, (time.time() - 120,) * 2)
        with Cluster() as c:
            c.start()
            self.assertFalse(left.exists())


class Starts(ClusterTest):
    """What a node lacks at its start is said with the fix."""

    def test_open_files(self):
        with Cluster() as c:
            few = ["bash", "-c", 'ulimit -n 20; exec "$0" "$@"', processes.PROGRAM]
            up = Process("up", str(c.file), "--no-restart", command=few)
            c.processes.append(up)
            up.wait_error("may open 20 files and needs at least 60: raise the limit (ulimit -Hn, LimitNOFILE)")

    def test_a_control_port_that_is_taken(self):
        with Cluster() as c:
            port = int(re.search(r"control_port = (\d+)", c.file.read_text())[1])
            with socket.create_server(("127.0.0.1", port)):
                up = Process("up", str(c.file), "--no-restart")
                c.processes.append(up)
                up.wait_error(f"control_port: cannot listen at 127.0.0.1:{port}: Address already in use; free the port")


class FullDisk(ClusterTest):
    def test_a_command_whose_output_is_lost_fails_and_says_why(self):
        file = str(QUICKSTART / "cluster.toml")
        for arguments in (["config", "dump", file], ["check", file], ["actors", "--kinds"], ["ask", "--schema"],
                          ["simulate", file, "--workload", str(QUICKSTART / "workload.toml")]):
            with self.subTest(arguments=arguments):
                done = subprocess.run([*redirected(">/dev/full"), *arguments], stderr=subprocess.PIPE, text=True,
                                      timeout=PATIENCE)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot write to standard output: ", done.stderr)


if __name__ == "__main__":
    cluster.main()
