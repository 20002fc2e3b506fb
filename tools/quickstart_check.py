#!/usr/bin/env python3
"""Sends the real inputs of the quickstart's models to a running cluster and compares the answers with the golden
outputs: quickstart_check.py URL FOLDER. Python's standard library only."""
import array
import json
import math
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

TOLERANCE = 1e-4  # relative L2
NUMBERS = {"float32": ("f", "FP32"), "int64": ("q", "INT64")}


def ask(url, about, raw):
    """Returns the model's outputs for the raw little-endian input, over the V2 protocol."""
    code, datatype = NUMBERS[about["input"]["dtype"]]
    body = {"inputs": [{"name": about["input"]["name"], "shape": about["input"]["shape"], "datatype": datatype,
                        "data": array.array(code, raw).tolist()}]}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for _ in range(20):
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                (output,) = json.load(response)["outputs"]
                return output["data"]
        except urllib.error.HTTPError as e:
            why = e.read().decode(errors="replace")
            if e.code not in (429, 503):
                break
            time.sleep(0.25)  # overload: the client must retry
    sys.exit(f"{url}: {why}")


def main(url, folder):
    wrong = 0
    for file in sorted(Path(folder).glob("*.json")):
        model, about = file.stem, json.loads(file.read_text())
        expected = array.array("f", file.with_suffix(".out.bin").read_bytes())
        got = ask(f"{url}/v2/models/{model}/infer", about, file.with_suffix(".in.bin").read_bytes())
        if len(got) != len(expected):
            sys.exit(f"{model}: {len(got)} numbers instead of {len(expected)}")
        error = math.sqrt(sum((g - e) ** 2 for g, e in zip(got, expected)) / sum(e * e for e in expected))
        right = error <= TOLERANCE
        wrong += not right
        print(f"{model:<10} {about['input']['shape'][0]} rows: {'as expected' if right else 'WRONG'}"
              f" (relative error {error:.1e})")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
