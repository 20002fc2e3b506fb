"""`troupe infer`, with numpy's arrays."""
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

import processes

TYPES = {"BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
         "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16,
         "BF16": ml_dtypes.bfloat16, "FP32": np.float32, "FP64": np.float64}


@dataclass
class Inference:
    code: int
    document: dict
    outputs: list  # arrays; None if it failed
    error: str

    @property
    def message(self):
        """The only line of standard error."""
        assert self.error.count("\n") == 1, self.error
        return self.error.rstrip("\n")


def infer(file, inputs, *options, patience=300):
    """`inputs`: arrays in the graph's order, or bytes."""
    raw = inputs if isinstance(inputs, bytes) else b"".join(np.ascontiguousarray(v).tobytes() for v in inputs)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(raw)
        code, out, error = processes.run("infer", "--model-file", file, "--input", source, "--output", target, "--json",
                                         *options, patience=patience)
        document = json.loads(out)
        if code != 0:
            return Inference(code, document, None, error)
        rest, outputs = target.read_bytes(), []
        for spec in document["outputs"]:
            kind = np.dtype(TYPES[spec["datatype"]])
            size = kind.itemsize * int(np.prod(spec["shape"]))
            outputs.append(np.frombuffer(rest[:size], kind).reshape(spec["shape"]))
            rest = rest[size:]
        assert rest == b"", f"{len(rest)} bytes more than the document says"
        return Inference(code, document, outputs, error)
