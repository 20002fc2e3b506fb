"""ONNX models with inputs and golden outputs."""
import array
import json
import math
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures/onnx"
ALL_FIXTURES = ("encoder", "inception", "mlp", "mobilenet", "resnet_a", "resnet_b")


class Fixture:
    """An ONNX model with an input and its golden output."""
    CODES = {"float32": ("f", "FP32"), "int64": ("q", "INT64")}

    def __init__(self, name, folder=FIXTURES):
        self.name = name
        self.path = folder / f"{name}.onnx"
        about = json.loads((folder / f"{name}.json").read_text())
        self.input_name, self.input_shape = about["input"]["name"], about["input"]["shape"]
        self.output_name, self.output_shape = about["output"]["name"], about["output"]["shape"]
        code, self.datatype = self.CODES[about["input"]["dtype"]]
        self.input = array.array(code, (folder / f"{name}.in.bin").read_bytes())
        self.output = array.array("f", (folder / f"{name}.out.bin").read_bytes())
        self.rows = self.input_shape[0]

    def body(self, rows=None, slo_ms=None, first=0):
        """A V2 request for `rows` of the rows, from row `first` on."""
        rows = self.rows - first if rows is None else rows
        width = len(self.input) // self.rows
        request = {"inputs": [{"name": self.input_name, "datatype": self.datatype,
                               "shape": [rows] + self.input_shape[1:],
                               "data": list(self.input[first * width:(first + rows) * width])}]}
        if slo_ms:
            request["parameters"] = {"slo_ms": slo_ms}
        return json.dumps(request)

    def distance(self, answer, first=0):
        """Relative L2 distance of an answer's rows from the golden ones."""
        (tensor,) = [o for o in answer["outputs"] if o["name"] == self.output_name]
        width = len(self.output) // self.rows
        expected = self.output[first * width:first * width + len(tensor["data"])]
        if tensor["shape"][1:] != self.output_shape[1:] or len(tensor["data"]) != tensor["shape"][0] * width:
            return math.inf
        return relative_l2(tensor["data"], expected)



class Emulated:
    """A model of bytes for emulated devices only: any answer is right."""
    rows = 1

    def __init__(self, name, size):
        self.name, self.size = name, size

    def body(self, rows=1, slo_ms=None, first=0):
        request = {"inputs": [{"name": "input", "datatype": "UINT8", "shape": [rows, self.size],
                               "data": [7] * (rows * self.size)}]}
        if slo_ms:
            request["parameters"] = {"slo_ms": slo_ms}
        return json.dumps(request)

    def distance(self, answer, first=0):
        return 0.0


def relative_l2(got, expected):
    if len(got) != len(expected) or not len(got):
        return math.inf
    error = math.sqrt(sum((g - e) ** 2 for g, e in zip(got, expected)))
    return error / math.sqrt(sum(e * e for e in expected))
