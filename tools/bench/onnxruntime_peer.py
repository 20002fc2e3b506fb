#!/usr/bin/env python3
"""Measures onnxruntime on request, on one thread, for `troupe bench infer`. Prints its version in a line of JSON;
then answers every line {"model", "rows", "seconds"} on standard input with {"us"}, the median time of a batch of
random numbers, or with {"error"}."""
import json
import statistics
import sys
import time


def answer(document):
    print(json.dumps(document), flush=True)


try:
    import numpy
    import onnxruntime
except ImportError as e:
    answer({"error": f"{sys.executable}: {e}"})
    sys.exit(0)

sessions = {}


def session_of(model):
    if model not in sessions:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        sessions[model] = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return sessions[model]


def bind(session, rows):
    """Inputs and outputs are bound once, so that no run converts them."""
    binding = session.io_binding()
    for i in session.get_inputs():
        dims = [rows, *i.shape[1:]]
        random = numpy.random.default_rng(1)
        numbers = random.standard_normal(dims, numpy.float32) if i.type == "tensor(float)" else \
            numpy.zeros(dims, {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}[i.type])
        binding.bind_cpu_input(i.name, numbers)
    for o in session.get_outputs():
        binding.bind_output(o.name)
    return binding


def measure(model, rows, seconds):
    session = session_of(model)
    binding = bind(session, rows)
    session.run_with_iobinding(binding)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


answer({"version": onnxruntime.__version__})
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer({"us": measure(**request)})
    except Exception as e:  # onnxruntime's exceptions have no common base class
        answer({"error": str(e).splitlines()[0]})
