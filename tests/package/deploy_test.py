#!/usr/bin/env python3
"""The deployment examples fit the program and each other: systemd, Kubernetes, Slurm.

    tests/package/deploy_test.py PROGRAM [test names]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples/deploy"
MODEL = ROOT / "examples/quickstart/models/mlp.onnx"
PROGRAM = ""
DRAIN_S = 10  # the cluster file's default drain_timeout_ms

# The part of the Kubernetes schema that the example uses: kind → field → content. A type is a leaf, a list of
# one has such elements, None is anything.
NAMED_PORT = {"name": str, "port": int, "targetPort": None}
PROBE = {"httpGet": {"path": str, "port": None}, "tcpSocket": {"port": None}, "periodSeconds": int}
CONTAINER = {
    "name": str, "image": str, "args": [str],
    "env": [{"name": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}],
    "ports": [{"name": str, "containerPort": int}],
    "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests": {"cpu": str, "memory": str}},
    "volumeMounts": [{"name": str, "mountPath": str}]}
POD = {"terminationGracePeriodSeconds": int, "containers": [CONTAINER],
       "volumes": [{"name": str, "configMap": {"name": str}, "emptyDir": {"medium": str, "sizeLimit": str}}]}
LABELS = {"app": str, "part": str}
COMMON = {"apiVersion": str, "kind": str, "metadata": {"name": str}}
SCHEMA = {
    "ConfigMap": {**COMMON, "data": {"cluster.toml": str}},
    "Service": {**COMMON, "spec": {"clusterIP": str, "publishNotReadyAddresses": bool, "selector": LABELS,
                                   "ports": [NAMED_PORT]}},
    "NetworkPolicy": {**COMMON, "spec": {
        "podSelector": {"matchLabels": LABELS}, "policyTypes": [str],
        "ingress": [{"from": [{"podSelector": {"matchLabels": LABELS}}], "ports": [{"port": int}]}]}},
    "StatefulSet": {**COMMON, "spec": {
        "serviceName": str, "replicas": int, "podManagementPolicy": str, "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": POD}}}}


def fits(value, schema, at):
    if schema is None:
        return
    if isinstance(schema, dict):
        assert isinstance(value, dict), f"{at}: not a map"
        for key, inner in value.items():
            assert key in schema, f"{at}.{key}: no such field"
            fits(inner, schema[key], f"{at}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list) and value, f"{at}: not a list"
        for i, inner in enumerate(value):
            fits(inner, schema[0], f"{at}[{i}]")
    else:
        assert type(value) is schema, f"{at}: not a {schema.__name__}"


def check(text):
    """`troupe check` of a cluster file, with its models at their place on this machine."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(re.sub(r'source = ".*"', f'source = "{MODEL}"', text))
        file.flush()
        done = subprocess.run([PROGRAM, "check", file.name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def need(test, command):
    if not shutil.which(command):
        test.skipTest(f"{command} is not here")


class Systemd(unittest.TestCase):
    def test_the_unit_is_valid_and_waits_for_the_drain(self):
        need(self, "systemd-analyze")
        text = (DEPLOY / "systemd/troupe@.service").read_text()
        self.assertGreater(int(re.search(r"TimeoutStopSec=(\d+)s", text)[1]), DRAIN_S)
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder, "troupe@head.service")
            unit.write_text(re.sub(r"Documentation=.*\n", "", text.replace("/opt/troupe/bin/troupe", PROGRAM)))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                                  timeout=120)
        self.assertEqual((done.returncode, [s for s in done.stderr.splitlines() if "troupe" in s]), (0, []), done.stderr)


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("python3-yaml is not here")
        cls.objects = list(yaml.safe_load_all((DEPLOY / "kubernetes/troupe.yaml").read_text()))
        cls.sets = [o for o in cls.objects if o["kind"] == "StatefulSet"]
        (cls.cluster,) = [o["data"]["cluster.toml"] for o in cls.objects if o["kind"] == "ConfigMap"]

    def test_every_field_is_one_that_kubernetes_knows(self):
        for o in self.objects:
            fits(o, SCHEMA[o["kind"]], o["kind"])

    def test_pods_are_the_nodes_of_the_cluster_file(self):
        check(self.cluster)
        pods = {f"{s['metadata']['name']}-{i}": f"{s['metadata']['name']}-{i}.{s['spec']['serviceName']}"
                for s in self.sets for i in range(s["spec"]["replicas"])}
        nodes = dict(re.findall(r'name = "([\w-]+)"\s+roles = .*\s+host = "(\S+)"', self.cluster))
        self.assertEqual(pods, nodes)

    def test_selectors_find_their_pods_and_volumes_their_mounts(self):
        for s in self.sets:
            labels = s["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(s["spec"]["selector"]["matchLabels"], labels)
            pod = s["spec"]["template"]["spec"]
            for container in pod["containers"]:
                self.assertEqual({m["name"] for m in container["volumeMounts"]}, {v["name"] for v in pod["volumes"]})
        for service in (o for o in self.objects if o["kind"] == "Service"):
            wanted = service["spec"]["selector"].items()
            self.assertTrue([s for s in self.sets if wanted <= s["spec"]["template"]["metadata"]["labels"].items()])
        (headless,) = [o for o in self.objects if o["kind"] == "Service" and o["spec"].get("clusterIP") == "None"]
        self.assertTrue(headless["spec"]["publishNotReadyAddresses"])
        self.assertEqual({s["spec"]["serviceName"] for s in self.sets}, {headless["metadata"]["name"]})

    def test_probes_and_grace_fit_the_program(self):
        http_api = (ROOT / "actors/frontend/http_api.cpp").read_text()
        drain_s = int(re.search(r"drain_timeout_ms = (\d+)", self.cluster)[1]) / 1000
        for s in self.sets:
            pod = s["spec"]["template"]["spec"]
            self.assertGreater(pod["terminationGracePeriodSeconds"], drain_s)
            for container in pod["containers"]:
                for probe in ("livenessProbe", "readinessProbe"):
                    path = container.get(probe, {}).get("httpGet", {}).get("path")
                    self.assertIn(f'"{path}"' if path else "", http_api)


class Slurm(unittest.TestCase):
    SCRIPT = DEPLOY / "slurm/troupe.sbatch"

    def test_the_script_is_clean(self):
        subprocess.run(["bash", "-n", self.SCRIPT], check=True)
        need(self, "shellcheck")
        done = subprocess.run(["shellcheck", self.SCRIPT], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_it_writes_a_cluster_file_of_the_hosts_and_starts_a_node_on_each(self):
        with tempfile.TemporaryDirectory() as folder:
            tools = Path(folder, "bin")
            tools.mkdir()
            for name, text in (("scontrol", "printf 'alpha\\nbeta\\ngamma\\n'"), ("srun", f'echo "$@" >{folder}/srun')):
                (tools / name).write_text(f"#!/bin/bash\n{text}\n")
                (tools / name).chmod(0o755)
            models = Path(folder, "models.toml")
            models.write_text(f'[[model]]\nname = "mlp"\nsource = "{MODEL}"\nslo_ms = 50\n')
            done = subprocess.run(["bash", self.SCRIPT], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TROUPE": PROGRAM,
                                       "SLURM_SUBMIT_DIR": folder, "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "x"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            file = Path(folder, "troupe-7/cluster.toml")
            check(file.read_text())
            self.assertEqual(re.findall('host = "(.*)"', file.read_text()), ["alpha", "beta", "gamma"])
            self.assertIn(f"{PROGRAM} {file}", Path(folder, "srun").read_text())


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
