#!/usr/bin/env python3
"""Keys, tenants and certificates of real clusters, and what strangers get who have none."""
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest
from pathlib import Path

import cluster
from cluster import PATIENCE, Cluster, ClusterTest, Fixture

ADMIN, SEARCH, ADS, NARROW = (f"{name}-key-0123456789" for name in ("admin", "search", "ads", "narrow"))
KEYS = f"""
[admin]
key = "{ADMIN}"
[[tenant]]
name = "search"
key_file = "search.key"
models = ["mlp"]
[[tenant]]
name = "ads"
key = "{ADS}"
rate_rps = 0.5
burst = 3
[[tenant]]
name = "narrow"
key = "{NARROW}"
concurrency = 1
"""


def run(*arguments, **environment):
    done = subprocess.run([cluster.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def certify(c, folder="certs"):
    """Certificates for a cluster, named in its file; returns their folder."""
    certs = Path(c.folder.name, folder)
    text = c.file.read_text().replace('[security]\ncertificates = "certs"\n', "")
    c.file.write_text(text + '[security]\ncertificates = "certs"\n')
    code, out, err = run("certs", certs, "--cluster", c.file)
    assert code == 0, out + err
    return certs


def expired(certs, name):
    """A certificate of the cluster's CA for a node that is over since it was made; its path without .pem."""
    path = certs / "expired"
    if not path.with_suffix(".pem").exists():
        shutil.copy(certs / f"{name}.key", f"{path}.key")
        for command in (f"req -new -key {path}.key -subj /CN={name} -out {path}.csr",
                        f"x509 -req -in {path}.csr -CA {certs}/ca.pem -CAkey {certs}/ca.key -days 0 -out {path}.pem"):
            subprocess.run(["openssl", *command.split()], check=True, capture_output=True, timeout=PATIENCE)
        time.sleep(1.5)
    return path


def ask(c, method, path, body=None, key=None, headers=None):
    """(status, headers, text) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", c.http_port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, body, {**(headers or {}), **({"Authorization": f"Bearer {key}"} if key else {})})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()


def eventually(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


class Keys(ClusterTest):
    def test_keys_tenants_and_limits(self):
        mlp = Fixture("mlp")
        body = mlp.body(1)
        infer = "/v2/models/mlp/infer"
        with Cluster(models=("mlp", "encoder")) as c:
            key_file = Path(c.folder.name, "search.key")
            key_file.write_text(SEARCH + "\n")
            c.file.write_text(c.file.read_text() + KEYS)
            code, out, err = run("config", "dump", c.file)
            self.assertEqual(code, 0, err)
            for secret in (ADMIN, SEARCH, ADS):
                self.assertNotIn(secret, out)
            up = c.start()

            with self.subTest("who has no key"):
                self.assertEqual(ask(c, "GET", "/v2/health/ready")[0], 200)
                for method, path in (("POST", infer), ("GET", "/v2/models/mlp"), ("GET", "/metrics")):
                    status, headers, text = ask(c, method, path, body if method == "POST" else None)
                    self.assertEqual((status, headers.get("WWW-Authenticate")), (401, 'Bearer realm="troupe"'), path)
                    self.assertIn("error", json.loads(text))
                self.assertEqual(ask(c, "POST", infer, body, "no-such-key-0123456789")[0], 401)

            with self.subTest("a stranger's body is not waited for: the header is enough"):
                for path, key, status in ((infer, None, 401), (infer, "no-such-key-0123456789", 401),
                                          ("/v2/models/encoder/infer", SEARCH, 403),
                                          ("/v2/repository/index", SEARCH, 403), ("/v2/no/such/path", None, 404)):
                    with socket.create_connection(("127.0.0.1", c.http_port), timeout=PATIENCE) as s:
                        word = f"Authorization: Bearer {key}\r\n" if key else ""
                        s.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{word}Content-Length: 60000000\r\n\r\n".encode())
                        answer = b""
                        while more := s.recv(65536):  # until the gateway closes
                            answer += more
                    self.assertIn(f"HTTP/1.1 {status} ".encode(), answer)
                    self.assertIn(b"Connection: close", answer)

            with self.subTest("a tenant gets its model and nothing else"):
                status, _, text = ask(c, "POST", infer, body, SEARCH)
                self.assertEqual(status, 200, text)
                self.assertLessEqual(mlp.distance(json.loads(text)), 1e-4)
                self.assertEqual(ask(c, "POST", "/v2/models/encoder/infer", "{}", SEARCH)[0], 403)
                self.assertEqual(ask(c, "GET", "/v2/models/%65ncoder", None, SEARCH)[0], 403)
                self.assertEqual(ask(c, "GET", "/metrics", None, SEARCH)[0], 403)
                for key, seen in ((SEARCH, {"mlp"}), (ADS, {"mlp", "encoder"}), (ADMIN, {"mlp", "encoder"})):
                    listed = json.loads(ask(c, "GET", "/v2/models", None, key)[2])["models"]
                    self.assertEqual({m["name"] for m in listed}, seen)

            with self.subTest("a rate is kept to, and Retry-After says when to come again"):
                answers = [ask(c, "POST", infer, body, ADS) for _ in range(6)]
                self.assertEqual([a[0] for a in answers[:3]], [200] * 3, answers)
                late = [a for a in answers if a[0] == 429]
                self.assertTrue(late, answers)
                wait = int(late[-1][1]["Retry-After"])
                self.assertIn(wait, (1, 2))
                self.assertIn("quota", late[-1][2])
                time.sleep(wait)
                self.assertEqual(ask(c, "POST", infer, body, ADS)[0], 200)

            with self.subTest("a concurrency is kept to, as long as the first request is not answered"):
                worker = up.pid_of("worker")
                os.kill(worker, signal.SIGSTOP)
                with concurrent.futures.ThreadPoolExecutor(1) as other:
                    try:
                        first = other.submit(ask, c, "POST", infer, body, NARROW)
                        in_flight = 'troupe_tenant_requests_in_flight{tenant="narrow"} 1\n'
                        self.assertTrue(eventually(lambda: in_flight in ask(c, "GET", "/metrics", None, ADMIN)[2]))
                        status, headers, text = ask(c, "POST", infer, body, NARROW)
                        self.assertEqual((status, headers.get("Retry-After")), (429, "1"), text)
                        self.assertEqual(json.loads(text)["reason"], "quota")
                    finally:
                        os.kill(worker, signal.SIGCONT)
                    self.assertEqual(first.result()[0], 200)
                self.assertEqual(ask(c, "POST", infer, body, NARROW)[0], 200)

            with self.subTest("tenants are counted, and the books balance"):
                text = ask(c, "GET", "/metrics", None, ADMIN)[2]
                self.assertRegex(text, r'troupe_tenant_requests_admitted_total\{tenant="search"\} 1\b')
                self.assertRegex(text, r'troupe_tenant_requests_refused_total\{limit="rate",tenant="ads"\}|'
                                       r'troupe_tenant_requests_refused_total\{tenant="ads",limit="rate"\}')
                self.assertIn("troupe_ledger_balanced 1", text)
                for reason, count in (("no_key", 4), ("unknown_key", 2), ("forbidden", 5)):
                    self.assertIn(f'troupe_http_unauthorised_total{{reason="{reason}"}} {count}\n', text)
                for secret in (ADMIN, SEARCH, ADS):
                    self.assertNotIn(secret, text)

            with self.subTest("troupe load sends a key, from a file or from the environment"):
                load = ("load", c.url, "--rate", 20, "--duration", 1, "--json")
                for arguments, environment in (((*load, "--key-file", key_file), {}), (load, {"TROUPE_API_KEY": SEARCH})):
                    code, out, err = run(*arguments, **environment)
                    self.assertEqual(code, 0, out + err)
                    seen = json.loads(out)
                    self.assertEqual(list(seen["models"]), ["mlp"])  # all that it may see
                    self.assertEqual(seen["total"]["finished"], seen["total"]["sent"])
                for arguments, environment, word in ((load, {}, "--key-file"),
                                                     (load, {"TROUPE_API_KEY": "no-such-key-0123456789"}, "401"),
                                                     ((*load, "--key-file", "/no/such/file"), {}, "/no/such/file")):
                    code, out, err = run(*arguments, **environment)
                    self.assertEqual(code, 1, out)
                    self.assertIn(word, err)

            with self.subTest("SIGHUP reads key files again; a bad one changes nothing"):
                fresh = "fresh-search-key-0123"
                key_file.write_text(fresh)
                up.child.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: ask(c, "POST", infer, body, fresh)[0] == 200))
                self.assertEqual(ask(c, "POST", infer, body, SEARCH)[0], 401)
                key_file.write_text("bad")
                up.child.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: "keys_not_read" in up.output()))
                self.assertEqual(ask(c, "POST", infer, body, fresh)[0], 200)
            self.assertEqual(up.terminate(), 0)
            for secret in (ADMIN, SEARCH, ADS, fresh):
                self.assertNotIn(secret, up.output())


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
                """Connects, talks, and is cut off with a line in the log."""
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
                self.assertIn("certificate has expired; the peer needs a new one from troupe certs", refusals()[-1])
            with self.subTest("nothing at all, many times: nobody else waits for them"):
                idle = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(200)]
                try:
                    self.assertTrue(c.status()["ready"])
                    self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
                    self.assertTrue(eventually(lambda: any("in time" in s or "meanwhile" in s for s in refusals())))
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
            self.assert_books_balance(c)
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


class Strangers(ClusterTest):
    """A control port without certificates, and HTTP, as a rude stranger uses them."""

    def test_a_control_connection_that_announces_too_much_is_cut_off(self):
        with Cluster() as c:
            up = c.start()
            port = json.loads(run("config", "dump", c.file, "--json")[1])["node"][0]["control_port"]["value"]
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
                # BASP header: operation, two bytes, flags, payload length, operation data, two actor ids
                s.sendall(bytes([1, 0, 0, 0]) + (0xF0000000).to_bytes(4, "big") + (4).to_bytes(8, "big") + bytes(16))
                with contextlib.suppress(OSError):
                    while s.recv(65536):
                        pass
            self.assertTrue(eventually(lambda: "control_connection_cut" in up.output()))
            rss = int(Path(f"/proc/{up.pid_of('head')}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            self.assertLess(rss, 2 << 30)
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
        with Cluster() as c:
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
                status = ask(c, "POST", "/v2/models/mlp/infer", bomb, headers={"Content-Encoding": "gzip"})[0]
                self.assertIn(status, (400, 413, 415))
                began = time.monotonic()
                self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
                self.assertLess(time.monotonic() - began, 10)
                rss = int(Path(f"/proc/{up.pid_of('head')}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                self.assertLess(rss, 1 << 30)
                self.assertIn(b"408", slow[0].recv(64))  # in the end they are told to go
            finally:
                for s in slow:
                    s.close()
            self.assertEqual(up.terminate(), 0)


if __name__ == "__main__":
    cluster.main()
