#!/usr/bin/env python3
"""Compares random models with onnxruntime, fused and not, as a whole and layer by layer. Every operator is drawn with
every opset from 11 to 17 that has it.

    onnxruntime_test.py MODEL_RUNNER [--seed N] [--seconds N] [--only NAME] [--case N]
    onnxruntime_test.py --record FILE [--seed N] [--only NAME]    writes one round, with onnxruntime's outputs

Case n of a seed is always the same; a failure prints the command that repeats it alone."""
import argparse
import json
import struct
import sys
import time
from collections import Counter

import numpy as np
import onnxruntime
from onnx import printer

import random_models
from model_process import ModelProcess

DTYPES = {"BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
          "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16,
          "FP32": np.float32, "FP64": np.float64}
MAX_ERROR = {np.dtype(np.float32): 5e-5, np.dtype(np.float64): 1e-13}  # relative, in the L2 norm, after a dozen layers


def run(process, model, tensors, rows):
    """The outputs fused and not fused, or the message of the refusal."""
    error, variants = process.run(model, b"".join(np.ascontiguousarray(t).tobytes() for t in tensors), rows)
    if error:
        return error, None
    return None, [[np.frombuffer(content, DTYPES[datatype]).reshape(shape) for datatype, shape, content in outputs]
                  for outputs in variants]


def reference(model, values):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, values)


def difference(got, expected):
    """The error of an output, or nothing."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if got.dtype not in MAX_ERROR:
        return None if np.array_equal(got, expected) else "other values"
    max_error = MAX_ERROR[got.dtype]
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    if not np.isfinite(expected).all():
        return None if np.array_equal(np.isfinite(got), np.isfinite(expected)) else "not finite elsewhere"
    # inputs are drawn around 1: small results of cancellation are not exact
    error = np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 0.1 * np.sqrt(expected.size))
    return None if error <= max_error else f"a relative error of {error:.2g}"


def check(process, m):
    """Runs a model both ways; returns the error, or nothing. onnxruntime decides whether a model is valid."""
    model = m.proto().SerializeToString()
    expected = reference(model, m.values)
    error, variants = run(process, model, [m.values[i.name] for i in m.inputs], m.rows)
    if error:
        return f"refused: {error}"
    for kind, outputs in zip(("fused", "not fused"), variants):
        for name, got, wanted in zip(m.outputs, outputs, expected):
            wrong = difference(got, wanted)
            if wrong:
                return f"{kind}, output '{name}': {wrong}"
    return None


def text_of(proto):
    """Without the weights' values."""
    for t in proto.graph.initializer:
        if np.prod(t.dims) > 16:
            t.Clear()
    return printer.to_text(proto)


MAKERS = {**random_models.OPERATORS, **random_models.NETWORKS}


def round_of(only):
    """An endless series of cases: every operator with every opset that has it, and the networks more often."""
    names = [only] if only else [*random_models.OPERATORS, *list(random_models.NETWORKS) * 10]
    return [(name, opset) for name in names for opset in random_models.opsets_of(name)]


def make(seed, case, kinds):
    name, opset = kinds[case % len(kinds)]
    m = random_models.Model(np.random.default_rng([seed, case]), opset)
    MAKERS[name](m)
    return name, opset, m


def record(path, seed, kinds):
    """Writes a round of sound models with onnxruntime's outputs, as recorded_models.py reads them."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    with open(path, "wb") as file:
        for case in range(len(kinds)):
            name, opset, m = make(seed, case, kinds)
            model = m.proto().SerializeToString()
            try:
                outputs = [np.ascontiguousarray(o) for o in reference(model, m.values)]
            except Exception as e:
                if not type(e).__module__.startswith("onnxruntime"):
                    raise
                continue
            data = b"".join(np.ascontiguousarray(m.values[i.name]).tobytes() for i in m.inputs)
            specs = [{"name": n, "datatype": names[o.dtype], "shape": list(o.shape), "max_error": MAX_ERROR.get(o.dtype)}
                     for n, o in zip(m.outputs, outputs)]
            about = json.dumps({"name": name, "opset": opset, "seed": seed, "case": case, "rows": int(m.rows),
                                "model_bytes": len(model), "data_bytes": len(data), "outputs": specs}).encode()
            file.write(struct.pack("<I", len(about)) + about + model + data + b"".join(o.tobytes() for o in outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner", nargs="?")
    parser.add_argument("--record", help="a file for one round of models and their outputs; runs none")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", help="an operator, or one of " + ", ".join(random_models.NETWORKS))
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--save", help="a file for the model that failed")
    options = parser.parse_args()

    kinds = round_of(options.only)
    if options.record:
        return record(options.record, options.seed, kinds)
    if not options.runner:
        parser.error("MODEL_RUNNER is missing")
    process = ModelProcess(options.runner)
    end = time.monotonic() + options.seconds
    compared, unsound, failures = Counter(), Counter(), 0
    case = first = options.case or 0
    while True:
        name, opset, m = make(options.seed, case, kinds)
        try:
            wrong = check(process, m)
            compared[name, opset] += 1
        except Exception as e:  # onnxruntime's exceptions have no common base class
            if not type(e).__module__.startswith("onnxruntime"):
                raise
            unsound[name] += 1
            seen = sum(n for (other, _), n in compared.items() if other == name)
            wrong = f"too many models are not sound: {e}" if unsound[name] > 5 + seen / 10 else None
        if wrong:
            failures += 1
            again = f"--seed {options.seed} --case {case}" + (f" --only {options.only}" if options.only else "")
            print(f"{name}, opset {opset}: {wrong}\n  again: {sys.argv[0]} {options.runner} {again}\n"
                  f"{text_of(m.proto())}", flush=True)
            if options.save:
                open(options.save, "wb").write(m.proto().SerializeToString())
        case += 1
        missing = sorted(set(kinds) - set(compared)) if options.case is None else []
        # one round in any case, and two more for invalid models
        min_cases = len(kinds) * (3 if missing else 1)
        if options.case is not None or failures == 5 or (time.monotonic() > end and case - first >= min_cases):
            break
    print(f"seed {options.seed}: {case - first} models, {sum(unsound.values())} not sound, {failures} failures")
    if missing:
        print("not compared: " + ", ".join(f"{name} at opset {opset}" for name, opset in missing))
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
