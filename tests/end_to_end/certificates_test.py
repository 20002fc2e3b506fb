#!/usr/bin/env python3
"""Certificates of real clusters, and the rejection of strangers without them."""
import contextlib
import json
import os
import pty
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import cluster
import processes
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, eventually, run


def certify(c, folder="certs"):
    """Certificates for a cluster, named in its file; returns their folder."""
    certs = Path(c.folder.name, folder)
    text = c.file.read_text().replace('[security]\ncertificates = "certs"\n', "")
    c.file.write_text(text + '[security]\ncertificates = "certs"\n')
    code, out, err = run("certs", certs, "--cluster", c.file)
    assert code == 0, out + err
    return certs


def expired(certs, name):
    """A certificate of the cluster's CA for a node that has expired; its path without .pem."""
    path = certs / "expired"
    if not path.with_suffix(".pem").exists():
        shutil.copy(certs / f"{name}.key", f"{path}.key")
        for command in (f"req -new -key {path}.key -subj /CN={name} -out {path}.csr",
                        f"x509 -req -in {path}.csr -CA {certs}/ca.pem -CAkey {certs}/ca.key -days 0 -out {path}.pem"):
            subprocess.run(["openssl", *command.split()], check=True, capture_output=True, timeout=PATIENCE)
        time.sleep(1.5)
    return path


def at_terminal(*arguments):
    """(exit code, what the command shows on a terminal, where empty lines answer whatever it asks)"""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(processes.PROGRAM, [processes.PROGRAM, *map(str, arguments)])
    os.write(terminal, b"\n" * 8)
    shown = b""
    with contextlib.suppress(OSError):  # the command has ended
        while piece := os.read(terminal, 4096):
            shown += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


class Certificates(ClusterTest):
    def test_a_cluster_with_certificates_serves_and_refuses_strangers(self):
        mlp = Fixture("mlp")
        with Cluster() as c:
            certs = certify(c)
            self.assertEqual(run("check", c.file)[0], 0)
            head = c.start("--node", "head", ready=None)
            worker = c.start("--node", "worker", ready=None)
            head.wait_line("ready")
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assertTrue(c.status()["ready"])
            port = json.loads(run("config", "dump", c.file, "--json")[1])["node"][0]["control_port"]["value"]

            def refusals():
                return [s for s in head.lines["stderr"] if "control_connection_refused" in s]

            def stranger(talk):
                """Connects, sends bytes, and is disconnected with a line in the log."""
                time.sleep(1.1)  # one line a second
                before = len(refusals())
                with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
                    talk(s)
                self.assertTrue(eventually(lambda: len(refusals()) > before), head.output())

            def plain(s):
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                with contextlib.suppress(OSError):
                    while s.recv(4096):
                        pass

            def tls(certificate):
                def talk(s):
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                    context.check_hostname = False
                    context.verify_mode = ssl.CERT_NONE
                    if certificate:
                        context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
                    with self.assertRaises(OSError):
                        with context.wrap_socket(s) as t:
                            t.sendall(b"x" * 64)
                            if not t.recv(1):
                                raise ConnectionError("closed")
                return talk

            others = Path(c.folder.name, "others")
            self.assertEqual(run("certs", others, "--node", "head=127.0.0.1")[0], 0)
            with self.subTest("plain TCP"):
                stranger(plain)
            with self.subTest("TLS without a certificate"):
                stranger(tls(None))
            with self.subTest("the certificate of another CA"):
                stranger(tls(others / "head"))
            with self.subTest("a certificate of ours that has expired"):
                stranger(tls(expired(certs, "worker")))
                self.assertIn("certificate has expired; the peer needs a new certificate from troupe certs", refusals()[-1])
            with self.subTest("nothing at all, many times: nobody else waits for them"):
                idle = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(200)]
                try:
                    self.assertTrue(c.status()["ready"])
                    self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
                    self.assertTrue(eventually(lambda: any("timed out" in s or "evicted" in s for s in refusals())))
                finally:
                    for s in idle:
                        s.close()
            with self.subTest("the tools need the operator's certificate"):
                hidden = certs / "hidden"
                (certs / "operator.key").rename(hidden)
                code, out, err = run("status", c.file)
                self.assertEqual(code, 1, out)
                self.assertIn("operator.key", err)
                hidden.rename(certs / "operator.key")
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assert_ledger_balances(c)
            self.assertEqual((head.terminate(), worker.terminate()), (0, 0))

    def test_what_is_wrong_with_the_files_is_said_before_anything_starts(self):
        with Cluster() as c:
            certs = certify(c)

            def said(*words):
                for command in (("check", c.file), ("up", c.file, "--node", "worker")):
                    code, out, err = run(*command)
                    self.assertNotEqual(code, 0, command)
                    for w in words:
                        self.assertIn(w, err, command)
                    self.assertLess(len(err.splitlines()), 4, err)

            code, _, err = run("certs", certs, "--cluster", c.file)
            self.assertEqual(code, 1)
            self.assertIn("exists already", err)
            for taken in ("ca", "operator"):
                other = Path(c.folder.name, "other.toml")
                other.write_text(c.file.read_text().replace('name = "worker"', f'name = "{taken}"'))
                code, _, err = run("certs", Path(c.folder.name, "other"), "--cluster", other)
                self.assertEqual(code, 2, err)
                self.assertIn(f"'{taken}'", err)
                self.assertFalse(Path(c.folder.name, "other").exists())
            key = certs / "worker.key"
            key.chmod(0o644)
            said("worker.key", "chmod")
            key.rename(certs / "away")
            said("worker.key", "No such file")
            (certs / "away").rename(key)
            key.chmod(0o600)
            with self.subTest("an encrypted key: nobody is asked for its pass phrase"):
                shutil.copy(key, certs / "plain")
                subprocess.run(["openssl", "pkey", "-in", certs / "plain", "-aes256", "-passout", "pass:secret", "-out", key],
                               check=True, timeout=PATIENCE)
                code, shown = at_terminal("check", c.file)
                self.assertEqual(code, 2, shown)
                self.assertRegex(shown.strip(), r"\A.*worker\.key: holds no private key without a pass phrase\Z")
                (certs / "plain").rename(key)
            shutil.copy(expired(certs, "worker").with_suffix(".pem"), certs / "worker.pem")
            shutil.copy(certs / "expired.key", key)
            said("worker.pem", "certificate has expired", "troupe certs")
            (certs / "worker.pem").write_text("rubbish")
            said("worker.pem", "holds no certificate")
            (certs / "ca.pem").unlink()
            said("ca.pem", "No such file")

    def test_two_clusters_of_different_cas_do_not_meet(self):
        with Cluster() as c:
            certify(c)
            others = certify(c, "others")
            head = c.start("--node", "head", ready=None)
            text = c.file.read_text()
            c.file = c.file.with_name("others.toml")
            c.file.write_text(text.replace('certificates = "certs"', f'certificates = "{others}"'))
            worker = c.start("--node", "worker", ready=None)
            self.assertTrue(eventually(lambda: "control_connection" in head.output() + worker.output()))
            self.assertNotIn("ready", "\n".join(head.lines["stdout"]))


if __name__ == "__main__":
    cluster.main()
