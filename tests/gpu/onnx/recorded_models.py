#!/usr/bin/env python3
"""Runs recorded random models and compares their outputs with those that onnxruntime gave when they were recorded:

    recorded_models.py MODEL_RUNNER FILE [--seconds N]

`onnxruntime_test.py --record FILE` writes the file. Standard library only, for machines that have nothing else.

A record is the length of a JSON document (uint32), the document {name, opset, seed, case, rows, model_bytes,
data_bytes, outputs: [{name, datatype, shape, max_error}]}, the model, its inputs and its outputs."""
import argparse
import json
import math
import struct
import sys
import time

from model_process import SIZES, ModelProcess

CODES = {"BOOL": "?", "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "INT8": "b", "INT16": "h", "INT32": "i",
         "INT64": "q", "FP16": "e", "FP32": "f", "FP64": "d"}


def numbers(datatype, content):
    return struct.unpack(f"<{len(content) // SIZES[datatype]}{CODES[datatype]}", content)


def difference(about, expected_bytes, output):
    """What is wrong with an output, its first wrong element included, or nothing. The error is relative, in the L2
    norm; without max_error every number must be equal."""
    datatype, shape, content = output
    if [datatype, shape] != [about["datatype"], about["shape"]]:
        return f"{datatype}{shape} instead of {about['datatype']}{about['shape']}"
    if content == expected_bytes:
        return None
    expected, found = numbers(datatype, expected_bytes), numbers(datatype, content)
    max_error = about["max_error"]
    if max_error is not None:
        if all(map(math.isfinite, expected)):
            norm = max(math.sqrt(sum(e * e for e in expected)), 0.1 * math.sqrt(len(expected)))
            if math.sqrt(sum((f - e) ** 2 for f, e in zip(found, expected))) <= max_error * norm:
                return None
            wrong = [i for i, (f, e) in enumerate(zip(found, expected)) if not abs(f - e) <= max_error * (norm + abs(e))]
            # every element may be a little wrong, and their sum too much
            wrong = wrong or [max(range(len(found)), key=lambda i: abs(found[i] - expected[i]))]
        else:
            wrong = [i for i, (f, e) in enumerate(zip(found, expected)) if math.isfinite(f) != math.isfinite(e)]
    else:
        wrong = [i for i, (f, e) in enumerate(zip(found, expected)) if f != e and not (f != f and e != e)]
    if not wrong:
        return None
    first = wrong[0]
    return (f"{len(wrong)} of {len(found)} wrong, the first at {first}: expected {expected[first]}, found {found[first]}"
            f" (shape {shape})")


def records(path):
    """(document, model, inputs, outputs) of each record."""
    with open(path, "rb") as file:
        while head := file.read(4):
            about = json.loads(file.read(struct.unpack("<I", head)[0]))
            model, data = file.read(about["model_bytes"]), file.read(about["data_bytes"])
            outputs = [file.read(math.prod(o["shape"]) * SIZES[o["datatype"]]) for o in about["outputs"]]
            yield about, model, data, outputs


def check(process, about, model, data, expected):
    error, variants = process.run(model, data, about["rows"])
    if error:
        return f"refused: {error}"
    for kind, outputs in zip(("fused", "not fused"), variants):
        for spec, wanted, output in zip(about["outputs"], expected, outputs):
            if wrong := difference(spec, wanted, output):
                return f"{kind}, output '{spec['name']}': {wrong}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("file")
    parser.add_argument("--seconds", type=float, help="stops after that time, and says how far it came")
    options = parser.parse_args()
    process = ModelProcess(options.runner)
    end = time.monotonic() + (options.seconds or math.inf)
    done = failures = 0
    for about, *record in records(options.file):
        if time.monotonic() > end or failures == 5:
            print(f"stopped after {done} models")
            break
        wrong = check(process, about, *record)
        done += 1
        if wrong:
            failures += 1
            print(f"{about['name']}, opset {about['opset']}, seed {about['seed']}, case {about['case']}: {wrong}", flush=True)
    print(f"{done} models, {failures} failures")
    return 1 if failures or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
