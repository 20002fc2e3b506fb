#!/usr/bin/env python3
"""Models are deployed and undeployed while others are served; nodes drain while they are needed."""
import concurrent.futures
import json
import os
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import cluster
import processes
from clients import Load
from cluster import Cluster, ClusterTest
from fixtures import FIXTURES, Fixture
from processes import PATIENCE, eventually

WAIT = ("--wait", str(PATIENCE))


def troupe(c, command, *arguments, code=0):
    """The JSON document of `troupe COMMAND CLUSTER ... --json`."""
    done = subprocess.run([processes.PROGRAM, command, str(c.file), *map(str, arguments), "--json"],
                          capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == code, f"troupe {command} {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout) if code != 2 else done.stderr


def deploy(c, name, source=None, *more, code=0):
    return troupe(c, "deploy", "--name", name, "--source", source or FIXTURES / f"{name}.onnx", "--slo-ms", 10000,
                  "--max-batch", 16, *more, code=code)


def engines(c):
    """Of each model, as the nodes have it in the deployment log; none for models that need none."""
    out = {}
    for node in c.status()["nodes"]:
        for model in node["models"]:
            out.setdefault(model["name"], set()).add(model["engine"])
    return out


def add_node(c, name, roles, device=True):
    text = f'[[node]]\nname = "{name}"\nroles = {roles}\ncontrol_port = {cluster.free_ports(1)[0]}\n'
    c.file.write_text(c.file.read_text() + text + ('[[node.device]]\nkind = "cpu"\n' if device else ""))


class Deploy(ClusterTest):
    def test_a_model_comes_and_goes_under_the_load_of_another(self):
        mlp, encoder = Fixture("mlp"), Fixture("encoder")
        with Cluster(("mlp",)) as c:
            c.start()
            with Load(c, [mlp], clients=4) as load:
                load.wait_finished(20)
                self.assertEqual(c.infer("encoder", encoder.body(1))[0], 404)
                for _ in range(2):
                    reply = deploy(c, "encoder", None, *WAIT)
                    self.assertTrue(reply["complete"], reply)
                    code, answer = c.infer("encoder", encoder.body())
                    self.assertEqual(code, 200, answer)
                    self.assertLessEqual(encoder.distance(answer), 1e-4)
                    with Load(c, [encoder], clients=4) as short:
                        short.wait_finished(20)
                        self.assertTrue(troupe(c, "undeploy", "encoder", *WAIT)["complete"])
                        time.sleep(0.2)
                    self.assertEqual(set(s for _, _, s, *_ in short.results), {200, 404}, short.summary())
                    self.assertTrue(all(right for *_, right in short.results))
                load.wait_finished(20)
            self.assertEqual(set(s for _, _, s, *_ in load.results), {200}, load.summary())
            self.assertTrue(all(right for *_, right in load.results))
            self.assert_ledger_balances(c)
            self.assertTrue(c.status()["ready"])

    def test_a_model_of_the_file_may_go_and_come_back(self):
        mlp = Fixture("mlp")
        with Cluster(("mlp", "encoder")) as c:
            c.start()
            troupe(c, "undeploy", "mlp", *WAIT)
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 404)
            self.assertEqual(c.get("/v2/health/ready")[0], 200)
            c.file.with_name("again.toml").write_text(
                f'name = "mlp"\nsource = "{FIXTURES}/mlp.onnx"\nslo_ms = 10000\nmax_batch = 16\n')
            troupe(c, "deploy", "--file", c.file.with_name("again.toml"), *WAIT)
            code, answer = c.infer("mlp", mlp.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(mlp.distance(answer), 1e-4)

    def test_a_file_and_flags_are_one_definition(self):
        encoder = Fixture("encoder")
        with Cluster(("mlp",)) as c:
            c.start()
            file = Path(c.folder.name, "encoder.toml")
            text = f'name = "encoder"\nsource = "{FIXTURES}/encoder.onnx"\n[profile]\nalpha_ms = 1\nbeta_ms = 5'
            file.write_text(text)  # ends in a table, without a newline
            self.assertIn(f"{file}:1:1: slo_ms: is missing", troupe(c, "deploy", "--file", file, code=2))
            self.assertIn(f"{file}:1:8: name: --name gives it too; remove one of the two",
                          troupe(c, "deploy", "--file", file, "--name", "x", "--slo-ms", 10000, code=2))
            self.assertIn("troupe: max_batch: must be an integer in 1..65536, not 0",
                          troupe(c, "deploy", "--file", file, "--slo-ms", 10000, "--max-batch", 0, code=2))
            file.write_text(text.replace("beta_ms", "beta"))
            self.assertIn(f"{file}:5:1: profile: unknown key 'beta'",
                          troupe(c, "deploy", "--file", file, "--slo-ms", 10000, code=2))
            file.write_text(text)
            reply = troupe(c, "deploy", "--file", file, "--slo-ms", 10000, "--max-batch", 16, *WAIT)
            self.assertTrue(reply["complete"], reply)
            code, answer = c.infer("encoder", encoder.body())
            self.assertEqual(code, 200, answer)
            self.assertLessEqual(encoder.distance(answer), 1e-4)

    def test_what_cannot_be_deployed_is_said_and_hurts_nobody(self):
        mlp = Fixture("mlp")
        with Cluster(("mlp",)) as c:
            c.start()
            odd = Path(c.folder.name, "odd.onnx")
            odd.write_bytes(FIXTURES.joinpath("mlp.onnx").read_bytes().replace(b"Tanh", b"Tonh"))
            reply = deploy(c, "odd", odd, *WAIT, code=1)
            for word in ("node 'worker'", "odd.onnx", "Tonh"):
                self.assertIn(word, reply["detail"])
            self.assertEqual(c.infer("odd", mlp.body(1))[0], 503)
            self.assertEqual(c.retry_after("/v2/models/odd"), (503, "1"))
            self.assertEqual(c.infer("mlp", mlp.body(1))[0], 200)
            self.assertTrue(c.status()["ready"])
            troupe(c, "undeploy", "odd", *WAIT)
            self.assertEqual(c.infer("odd", mlp.body(1))[0], 404)
            # a different definition under an existing name, unknown names, invalid keys
            self.assertIn("undeploy it first", deploy(c, "mlp", None, "--profile", "{ alpha_ms = 1, beta_ms = 1 }",
                                                      code=1)["detail"])
            self.assertIn("nobody", troupe(c, "undeploy", "nobody", code=1)["detail"])
            self.assertIn("nobody", troupe(c, "drain", "nobody", code=2))
            self.assertIn("max_batch", troupe(c, "deploy", "--name", "x", "--source", odd, "--slo-ms", 1e3,
                                              "--max-batch", 0, code=2))
            self.assertIn("/nowhere.onnx", deploy(c, "x", "/nowhere.onnx", code=2))

    def test_the_engine_of_a_model_is_decided_once_by_its_file(self):
        with Cluster(("mlp",)) as c:
            up = c.start("--verbose")
            self.assertEqual(engines(c), {"mlp": {"native"}})
            twin, content = Path(c.folder.name, "twin.onnx"), FIXTURES.joinpath("mlp.onnx").read_bytes()
            twin.write_bytes(content[:100])
            detail = deploy(c, "twin", twin, code=1)["detail"]
            self.assertIn("twin.onnx: not an ONNX model", detail)  # of the deciding node, and not of a worker
            self.assertNotIn("cannot load", detail)
            twin.write_bytes(content)
            self.assertTrue(deploy(c, "twin", twin, *WAIT)["complete"])
            self.assertEqual(engines(c), {"mlp": {"native"}, "twin": {"native"}})
            self.assertIn("name=twin wanted=deployed engine=native", up.output())
            with self.subTest("a later load has the recorded engine"):
                troupe(c, "undeploy", "twin", *WAIT)
                twin.write_bytes(content.replace(b"Tanh", b"Tonh"))
                reply = c.asked("deployer@head", "redeploy", name="twin", wait=int(PATIENCE * 1e9))
                self.assertIn("Tonh", reply["detail"])
                self.assertIn("the deployment log has the engine native for it, and this node would choose openvino",
                              reply["detail"])
                troupe(c, "undeploy", "twin", *WAIT)
                deploy(c, "twin", twin, *WAIT, code=1)  # another definition, as the file is another one
                self.assertEqual(engines(c)["twin"], {"openvino"})
            self.assertEqual(c.infer("mlp", Fixture("mlp").body(1))[0], 200)

    def test_what_was_deployed_outlives_the_restart_of_any_one_node(self):
        mlp, encoder = Fixture("mlp"), Fixture("encoder")
        with Cluster(("mlp", "resnet_a"), limits="node_timeout_ms = 2000") as c:
            up = c.start()
            deploy(c, "encoder", None, *WAIT)
            troupe(c, "undeploy", "resnet_a", *WAIT)
            for node in ("worker", "head"):
                with self.subTest(node):
                    os.kill(up.pid_of(node), signal.SIGKILL)  # its parent restarts it
                    time.sleep(1)
                    for f in (mlp, encoder):
                        self.wait_until_served(c, f)
                    self.assertEqual(c.infer("resnet_a", Fixture("resnet_a").body(1))[0], 404)
            self.assertTrue(deploy(c, "inception", None, *WAIT)["complete"])
            self.assertEqual(c.infer("inception", Fixture("inception").body(1))[0], 200)

    def wait_until_served(self, c, fixture):
        """Waits, also while no process listens."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return c.wait_until_served(fixture)
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)


class Drain(ClusterTest):
    def end_of(self, pid):
        """The time at which the process ends, as a future."""
        future, handle = concurrent.futures.Future(), os.pidfd_open(pid)

        def wait():
            select.select([handle], [], [])
            future.set_result(time.monotonic())
            os.close(handle)
        threading.Thread(target=wait, daemon=True).start()
        return future

    def test_a_node_that_is_drained_under_load_loses_nothing(self):
        mlp = Fixture("mlp")
        with Cluster(("mlp",), limits="drain_timeout_ms = 60000\nnode_timeout_ms = 20000") as c:
            add_node(c, "second", '["worker"]')
            up = c.start()
            with Load(c, [mlp], clients=8) as load:
                for node in ("worker", "second"):
                    load.wait_finished(50)
                    pid = up.pid_of(node)
                    ended_at = self.end_of(pid)
                    self.assertTrue(troupe(c, "drain", node, *WAIT)["complete"])
                    # at once, not after the timeout of a command to a node that has gone
                    self.assertLess(time.monotonic() - ended_at.result(PATIENCE), 10)
                    end = time.monotonic() + PATIENCE
                    while Path(f"/proc/{pid}").exists():
                        self.assertLess(time.monotonic(), end)
                        time.sleep(0.05)
                    while f"node '{node}' ended with exit code 0" not in up.output():
                        self.assertLess(time.monotonic(), end, up.output())
                        time.sleep(0.05)
                    if node == "worker":
                        load.wait_finished(50)  # the other one continues to serve
                        self.assertEqual(set(s for _, _, s, *_ in load.results), {200}, load.summary())
                        back = c.start("--node", "worker")
                        self.assertIsNone(back.child.poll())
                        # It is ready after it has sent its slot report, which the scheduler may not have
                        # received yet.
                        self.assertTrue(eventually(lambda: c.metric("troupe_queue_slots") == 2))
                load.wait_finished(50)
            self.assertEqual(set(s for _, _, s, *_ in load.results), {200}, load.summary())
            self.assertTrue(all(right for *_, right in load.results))
            self.assert_ledger_balances(c)

    def test_a_node_that_is_started_again_at_once_has_left_all_the_same(self):
        with Cluster(("mlp",)) as c:
            head, worker = c.start("--node", "head", ready=None), c.start("--node", "worker")
            head.wait_line("^troupe: ready")

            def start_again():
                worker.wait()
                c.start("--node", "worker")
            restart = threading.Thread(target=start_again)
            restart.start()
            self.assertTrue(troupe(c, "drain", "worker", "--wait", PATIENCE / 2)["complete"])
            restart.join()


class Repository(ClusterTest):
    def post(self, c, model, verb, body=None):
        return self.post_text(c, model, verb, json.dumps(body or {}))

    def post_text(self, c, model, verb, body):
        import contextlib
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", c.http_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", f"/v2/repository/models/{model}/{verb}", body)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def test_clients_load_what_they_may_and_nothing_else(self):
        encoder = Fixture("encoder")
        with Cluster(("mlp",)) as c:
            allowed = Path(c.folder.name, "allowed")
            allowed.mkdir()
            allowed.joinpath("encoder.onnx").write_bytes(encoder.path.read_bytes())
            allowed.joinpath("way_out.onnx").symlink_to(FIXTURES / "mlp.onnx")
            c.file.write_text(c.file.read_text() + '[models]\ndirectory = "allowed"\n')
            c.start()

            def config(source, **more):
                return {"parameters": {"config": json.dumps({"source": source, "slo_ms": 10000, **more})}}
            for source in (str(FIXTURES / "encoder.onnx"), "../cluster.toml", "way_out.onnx", "/etc/passwd"):
                code, answer = self.post(c, "x", "load", config(source))
                self.assertEqual(code, 400, answer)
                self.assertIn("is not below", answer["error"])
            self.assertEqual(self.post(c, "x", "load")[0], 400)
            self.assertEqual(self.post(c, "x", "load", config("encoder.onnx", max_batch=0))[0], 400)
            self.assertEqual(self.post(c, "x", "load", config("encoder.onnx", slo=1))[0], 400)
            for body in (config("encoder.onnx", max_batch=16), None):
                code, answer = self.post(c, "encoder", "load", body)
                self.assertEqual(code, 200, answer)
                code, answer = c.infer("encoder", encoder.body())
                self.assertEqual(code, 200, answer)
                self.assertLessEqual(encoder.distance(answer), 1e-4)
                self.assertEqual(self.post(c, "encoder", "unload")[0], 200)
                self.assertEqual(c.infer("encoder", encoder.body())[0], 404)
            with self.subTest("bodies that are deep, large, or name a pipe harm nobody"):
                os.mkfifo(allowed / "pipe.onnx")
                self.assertIn("it is a pipe", self.post(c, "x", "load", config("pipe.onnx"))[1]["error"])
                for body, status in (('{"parameters":' + "[" * 60_000, 400), ('{"parameters":' + "[" * 4_000_000, 413),
                                     (json.dumps({"parameters": {"config": '{"a":' * 5_000 + "1" + "}" * 5_000}}), 400)):
                    self.assertEqual(self.post_text(c, "x", "load", body)[0], status)
                self.assertEqual(c.infer("mlp", Fixture("mlp").body(1))[0], 200)
            self.assertEqual(self.post(c, "nobody", "unload")[0], 400)
            self.assertEqual(self.post(c, "mlp", "unload")[0], 200)
            self.assertEqual(self.post(c, "mlp", "load")[0], 200)


if __name__ == "__main__":
    cluster.main()
