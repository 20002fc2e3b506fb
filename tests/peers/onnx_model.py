"""For the servers of the peers: the settings of a run, from measure.py, and the ONNX models."""
import os
from pathlib import Path

import numpy
import onnxruntime

PORT = int(os.environ["PEER_PORT"])
OTHER_PORTS = [int(port) for port in os.environ["PEER_OTHER_PORTS"].split()]  # for servers that need more
FOLDER = Path(os.environ["PEER_FOLDER"])  # for the server's files; removed after the run
MODELS_FOLDER = Path(os.environ["PEER_MODELS"])
MODELS = os.environ["PEER_MODEL_NAMES"].split()
MAX_BATCH = int(os.environ["PEER_MAX_BATCH"])
WAIT_MS = float(os.environ["PEER_WAIT_MS"])
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}


class OnnxModel:
    """A model with one input and one output, run by onnxruntime on one thread."""

    def __init__(self, name):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(MODELS_FOLDER / f"{name}.onnx", options,
                                                    providers=["CPUExecutionProvider"])
        (self.input,), (self.output,) = self.session.get_inputs(), self.session.get_outputs()
        self.dtype = TYPES[self.input.type]

    def rows(self, numbers):
        return numpy.asarray(numbers, self.dtype)

    def __call__(self, rows):
        return self.session.run(None, {self.input.name: rows})[0]
