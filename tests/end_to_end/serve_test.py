#!/usr/bin/env python3
"""`troupe serve PATH...`: models without a cluster file."""
import http.client
import json
import tempfile
import unittest
from pathlib import Path

import cluster
import processes
from fixtures import FIXTURES, Fixture

TASKS = FIXTURES.parent / "llama-tasks"


def post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=processes.PATIENCE)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


class Serve(unittest.TestCase):
    def test_a_file_and_a_checkpoint_with_its_adapters(self):
        (port,) = processes.free_ports(1)
        mlp = Fixture("mlp")
        p = processes.Process(*map(str, ("serve", mlp.path, TASKS / "base", TASKS / "adapters", "--port", port, "--kv-mb", 16)))
        try:
            p.wait_line(rf"^troupe: ready http://127.0.0.1:{port}$")
            self.assertIn(f"curl http://127.0.0.1:{port}/v2/models/mlp", p.output())
            self.assertIn('"model": "reverse"', p.output())
            code, answer = post(port, "/v2/models/mlp/infer", mlp.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(mlp.distance(answer), 1e-4)
            code, answer = post(port, "/v1/completions",
                                json.dumps({"model": "reverse", "prompt": "olleh=", "temperature": 0, "max_tokens": 8}))
            self.assertEqual(code, 200, answer)
            self.assertEqual(answer["choices"][0]["text"].strip(), "hello")
            self.assertEqual(p.terminate(), 0)
        finally:
            p.kill()

    def test_the_cluster_file_that_it_stands_for_is_valid(self):
        code, text, err = processes.run("serve", Fixture("mlp").path, TASKS / "base", "--print-config")
        self.assertEqual((code, err), (0, ""))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cluster.toml")
            file.write_text(text)
            code, out, err = processes.run("check", file)
            self.assertEqual(code, 0, err)

    def test_what_it_cannot_serve_is_named(self):
        code, out, err = processes.run("serve", "/nowhere")
        self.assertEqual((code, out, err), (2, "", "troupe: /nowhere: does not exist\n"))


if __name__ == "__main__":
    cluster.main()
