#!/usr/bin/env python3
"""API keys and tenants of a real cluster: permissions and limits."""
import concurrent.futures
import json
import os
import signal
import socket
import time
from pathlib import Path

import cluster
from cluster import Cluster, ClusterTest
from fixtures import Fixture
from processes import PATIENCE, eventually, run

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
                self.assertEqual(c.ask("GET", "/v2/health/ready")[0], 200)
                for method, path in (("POST", infer), ("GET", "/v2/models/mlp"), ("GET", "/metrics")):
                    status, headers, text = c.ask(method, path, body if method == "POST" else None)
                    self.assertEqual((status, headers.get("WWW-Authenticate")), (401, 'Bearer realm="troupe"'), path)
                    self.assertIn("error", json.loads(text))
                self.assertEqual(c.ask("POST", infer, body, "no-such-key-0123456789")[0], 401)

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
                status, _, text = c.ask("POST", infer, body, SEARCH)
                self.assertEqual(status, 200, text)
                self.assertLessEqual(mlp.distance(json.loads(text)), 1e-4)
                self.assertEqual(c.ask("POST", "/v2/models/encoder/infer", "{}", SEARCH)[0], 403)
                self.assertEqual(c.ask("GET", "/v2/models/%65ncoder", None, SEARCH)[0], 403)
                self.assertEqual(c.ask("GET", "/metrics", None, SEARCH)[0], 403)
                for key, seen in ((SEARCH, {"mlp"}), (ADS, {"mlp", "encoder"}), (ADMIN, {"mlp", "encoder"})):
                    listed = json.loads(c.ask("GET", "/v2/models", None, key)[2])["models"]
                    self.assertEqual({m["name"] for m in listed}, seen)

            with self.subTest("a rate is kept to, and Retry-After says when to come again"):
                answers = [c.ask("POST", infer, body, ADS) for _ in range(6)]
                self.assertEqual([a[0] for a in answers[:3]], [200] * 3, answers)
                late = [a for a in answers if a[0] == 429]
                self.assertTrue(late, answers)
                wait = int(late[-1][1]["Retry-After"])
                self.assertIn(wait, (1, 2))
                self.assertIn("quota", late[-1][2])
                code, story, err = run("why", c.file, late[-1][1]["Troupe-Request-Id"])
                self.assertEqual(code, 0, err)
                self.assertRegex(story, r"rejects it as quota: tenant 'ads' is at its rate; retry after \d+\.\d+ ms")
                time.sleep(wait)
                self.assertEqual(c.ask("POST", infer, body, ADS)[0], 200)

            with self.subTest("a concurrency is kept to, as long as the first request is not answered"):
                worker = up.pid_of("worker")
                os.kill(worker, signal.SIGSTOP)
                with concurrent.futures.ThreadPoolExecutor(1) as other:
                    try:
                        first = other.submit(c.ask, "POST", infer, body, NARROW)
                        in_flight = 'troupe_tenant_requests_in_flight{tenant="narrow"} 1\n'
                        self.assertTrue(eventually(lambda: in_flight in c.ask("GET", "/metrics", None, ADMIN)[2]))
                        status, headers, text = c.ask("POST", infer, body, NARROW)
                        self.assertEqual((status, headers.get("Retry-After")), (429, "1"), text)
                        self.assertEqual(json.loads(text)["reason"], "quota")
                    finally:
                        os.kill(worker, signal.SIGCONT)
                    self.assertEqual(first.result()[0], 200)
                self.assertEqual(c.ask("POST", infer, body, NARROW)[0], 200)

            with self.subTest("tenants are counted, and the ledger balances"):
                text = c.ask("GET", "/metrics", None, ADMIN)[2]
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
                    self.assertEqual(list(seen["models"]), ["mlp"])  # the only one it may see
                    self.assertEqual(seen["total"]["finished"], seen["total"]["sent"])
                for arguments, environment, word, wrong in (
                        (load, {}, "--key-file", 1), (load, {"TROUPE_API_KEY": "no-such-key-0123456789"}, "401", 1),
                        ((*load, "--key-file", "/no/such/file"), {}, "/no/such/file", 2)):
                    code, out, err = run(*arguments, **environment)
                    self.assertEqual(code, wrong, out)
                    self.assertIn(word, err)

            with self.subTest("SIGHUP reads key files again; a bad one changes nothing"):
                fresh = "fresh-search-key-0123"
                key_file.write_text(fresh)
                up.child.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: c.ask("POST", infer, body, fresh)[0] == 200))
                self.assertEqual(c.ask("POST", infer, body, SEARCH)[0], 401)
                key_file.write_text("bad")
                up.child.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: "keys_not_read" in up.output()))
                self.assertEqual(c.ask("POST", infer, body, fresh)[0], 200)

            with self.subTest("a key file that has become a pipe holds up neither SIGHUP nor status nor SIGTERM"):
                key_file.unlink()
                os.mkfifo(key_file)
                up.child.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: "it is a pipe" in up.output()))
                self.assertEqual(c.ask("POST", infer, body, fresh)[0], 200)
                code, _, err = run("status", c.file)
                self.assertEqual(code, 2, err)
                self.assertIn("it is a pipe", err)
            self.assertEqual(up.terminate(), 0)
            for secret in (ADMIN, SEARCH, ADS, fresh):
                self.assertNotIn(secret, up.output())


if __name__ == "__main__":
    cluster.main()
