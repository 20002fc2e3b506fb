"""Folders of encoders with an ONNX file, in the layouts in which they are published.

The graphs in tests/fixtures/encoders/exports were written by torch.onnx.export (PyTorch 2.15, opset 14): minilm with
Transformers 4.40, whose operators the native engine has, the others with 5.24, whose masks need OpenVINO. They have no
weights: `doc_string` of an initializer names the tensor of the checkpoint that it holds, and says whether it is transposed.
"""
import json
import shutil
import struct
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

EXPORTS = Path(__file__).resolve().parents[1] / "fixtures/encoders/exports"


def tensors_of(safetensors):
    """Those of type F32, by name."""
    content = Path(safetensors).read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    out = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            out[name] = numpy.frombuffer(content[8 + size + first:8 + size + last], "<f4").reshape(entry["shape"])
    return out


def export(name, checkpoint):
    """The graph of this name with the weights of a checkpoint's folder, as an onnx.ModelProto."""
    model = onnx.load(EXPORTS / f"{name}.onnx")
    tensors = tensors_of(Path(checkpoint, "model.safetensors"))
    for i in model.graph.initializer:
        tensor, _, transposed = i.doc_string.partition(" ")
        if tensor:
            values = tensors[tensor].T if transposed else tensors[tensor]
            i.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(values), i.name))
    return model


def write_folder(folder, name, checkpoint, file="onnx/model.onnx", without=()):
    """A folder with an ONNX file instead of the safetensors of a checkpoint, and without some of its other files."""
    skipped = shutil.ignore_patterns("model.safetensors", "golden.json", *without)
    shutil.copytree(checkpoint, folder, ignore=skipped, copy_function=shutil.copyfile)
    path = Path(folder, file)
    path.parent.mkdir(exist_ok=True)
    onnx.save(export(name, checkpoint), path)
    return Path(folder)
