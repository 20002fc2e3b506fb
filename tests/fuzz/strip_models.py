#!/usr/bin/env python3
"""Writes ONNX models without their weights: their structure, as a corpus of the ONNX loader's fuzz target.

    tests/fuzz/strip_models.py FROM TO

Reads every .onnx file below FROM (build/models: models of packages, none of which is in the repository) and writes it
into the folder TO, which holds nothing else afterwards. Names, attributes and nested graphs stay. Tensors of more than
64 elements become zeros of a small shape: all dimensions above 8 become 4, and so do the groups of convolutions, so that
most operators still fit together. Of long lists and texts the beginning stays.

Needs the Python of tests/requirements.txt. Says so if there is no model, which is no failure.
"""
import argparse
import shutil
import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

KEPT_ELEMENTS, MAX_ELEMENTS = 64, 1024
LARGE, SMALL = 8, 4
KEPT_TEXT = 256
VALUES = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "raw_data", "external_data",
          "data_location")


def small(dimension):
    return SMALL if dimension > LARGE else dimension


def count(dims):
    elements = 1
    for d in dims:
        elements *= d
    return elements


def strip_tensor(tensor):
    external = tensor.data_location == TensorProto.EXTERNAL
    if count(tensor.dims) <= KEPT_ELEMENTS and not external:
        return
    dims = [small(d) for d in tensor.dims]
    while count(dims) > MAX_ELEMENTS:
        dims[dims.index(max(dims))] = 1
    for field in VALUES:
        tensor.ClearField(field)
    tensor.dims[:] = dims
    if tensor.data_type == TensorProto.STRING:
        tensor.string_data.extend([b""] * count(dims))
    else:
        width = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        tensor.raw_data = bytes(count(dims) * width)


def strip_attribute(attribute):
    attribute.ClearField("doc_string")
    attribute.s = attribute.s[:KEPT_TEXT]
    if not attribute.s:
        attribute.ClearField("s")
    for values in (attribute.floats, attribute.ints, attribute.strings):
        del values[KEPT_ELEMENTS:]
    if attribute.name == "group":
        attribute.i = small(attribute.i)
    if attribute.HasField("t"):
        strip_tensor(attribute.t)
    for tensor in attribute.tensors:
        strip_tensor(tensor)
    if attribute.HasField("g"):
        strip_graph(attribute.g)
    for graph in attribute.graphs:
        strip_graph(graph)


def strip_nodes(nodes):
    for node in nodes:
        node.ClearField("doc_string")
        del node.metadata_props[:]
        for attribute in node.attribute:
            strip_attribute(attribute)


def strip_graph(graph):
    graph.ClearField("doc_string")
    for tensor in graph.initializer:
        strip_tensor(tensor)
    for sparse in graph.sparse_initializer:
        for tensor in (sparse.values, sparse.indices):
            strip_tensor(tensor)
    strip_nodes(graph.node)


def strip(model):
    """Changes the model in place."""
    model.ClearField("doc_string")
    for entry in model.metadata_props:
        entry.value = entry.value[:KEPT_TEXT]
    strip_graph(model.graph)
    for function in model.functions:
        strip_nodes(function.node)


def strip_files(source, target):
    """Returns the files that it has written."""
    if source.resolve().is_relative_to(target.resolve()):
        sys.exit(f"{target}: holds the models, and would be emptied; name another folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    written = []
    for file in sorted(source.rglob("*.onnx")):
        model = onnx.load(file, load_external_data=False)
        strip(model)
        written.append(target / f"{len(written)}_{file.stem}")
        written[-1].write_bytes(model.SerializeToString())
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    written = strip_files(options.source, options.target)
    if not written:
        print(f"no ONNX file below {options.source}: the ONNX loader is fuzzed without models of packages "
              "(tools/install gets them)")
    for file in written:
        print(f"{file.stat().st_size:8} bytes  {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
