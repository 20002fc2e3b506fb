"""A program that runs ONNX models sent to it (random_model_server.hpp). Standard library only."""
import json
import math
import struct
import subprocess

SIZES = {"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8,
         "FP16": 2, "FP32": 4, "FP64": 8}


class ModelProcess:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, model, data, rows):
        """(message of a refusal or None, outputs fused and not fused); an output is (datatype, shape, bytes)."""
        self.process.stdin.write(struct.pack("<3I", len(model), len(data), rows) + model + data)
        self.process.stdin.flush()
        head = json.loads(self.read(struct.unpack("<I", self.read(4))[0]))
        if "error" in head:
            return head["error"], None
        variants = []
        for _ in range(2):
            outputs = []
            for spec in head["outputs"]:
                shape = [rows, *spec["shape"]]
                outputs.append((spec["datatype"], shape, self.read(math.prod(shape) * SIZES[spec["datatype"]])))
            variants.append(outputs)
        return None, variants

    def read(self, size):
        content = self.process.stdout.read(size)
        if len(content) != size:
            raise SystemExit(f"the program that runs models ended ({self.process.wait()})")
        return content
