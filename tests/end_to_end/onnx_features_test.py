#!/usr/bin/env python3
"""Every opset from 7 to 23, control flow, functions, external data, and attributes of every type: `troupe infer` gives
onnxruntime's outputs, or refuses the model with the name of the node.

Needs the Python of tests/requirements.txt and OpenVINO.
"""
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import cluster
import processes
from infer_command import infer
from onnx_models import model, scalar, value, whole_numbers

onnxruntime.set_default_logger_severity(3)
node = helper.make_node
BOOL, INT64, FLOAT = TensorProto.BOOL, TensorProto.INT64, TensorProto.FLOAT


def numbers(name, array):
    return numpy_helper.from_array(np.asarray(array, np.float32), name)


def opset_model(opset):
    """x [rows, 3, 6] through operators whose definitions changed: as attributes, then as inputs, then in another way."""
    made, initializers = [], []

    def add(op, inputs, name, constants=None, **attributes):
        for key, content in (constants or {}).items():
            initializers.append(whole_numbers(f"{name}_{key}", content))
            inputs = [*inputs, f"{name}_{key}"]
        made.append(node(op, inputs, [name], f"/{name}", **attributes))
        return name

    def axes(op, x, name, dims, since, **attributes):
        return (add(op, [x], name, {"axes": dims}, **attributes) if opset >= since
                else add(op, [x], name, axes=dims, **attributes))
    initializers.extend([numbers("scale", [1, 2, 3]), numbers("shift", [0.5, 0, -0.5]), numbers("mean", [0.1, 0.2, 0.3]),
                         numbers("variance", [1, 2, 0.5]), numbers("low", -2), numbers("high", 2),
                         numbers("w", np.arange(36).reshape(6, 6) / 36), numbers("half", 0.5)])
    y = add("BatchNormalization", ["x", "scale", "shift", "mean", "variance"], "normal")
    y = add("Clip", [y, "low", "high"], "clipped") if opset >= 11 else add("Clip", [y], "clipped", min=-2.0, max=2.0)
    y = add("MatMul", [y, "w"], "mixed")
    y = axes("Unsqueeze", y, "wide", [1], 13)
    y = (add("Pad", [y], "padded", {"pads": [0, 0, 1, 0, 0, 0, 1, 0]}) if opset >= 11
         else add("Pad", [y], "padded", pads=[0, 0, 1, 0, 0, 0, 1, 0]))
    y = axes("Squeeze", y, "narrow", [1], 13)
    y = (add("Slice", [y], "cut", {"starts": [1], "ends": [4], "axes": [1]}) if opset >= 10
         else add("Slice", [y], "cut", starts=[1], ends=[4], axes=[1]))
    y = add("Add", [y, axes("ReduceMean", y, "average", [2], 18, keepdims=1)], "centred")
    y = add("Add", [y, axes("ReduceSum", y, "sum", [2], 13, keepdims=1)], "summed")
    y = add("Softmax", [y], "soft", axis=2)
    y = add("Dropout", [y, "half"], "dropped") if opset >= 12 else add("Dropout", [y], "dropped", ratio=0.5)
    y = add("Cast", [add("Cast", [y], "double", to=TensorProto.DOUBLE)], "single", to=FLOAT)
    if opset >= 17:
        initializers.append(numbers("ones", np.ones(6)))
        y = add("LayerNormalization", [y, "ones"], "layer")
    if opset >= 20:
        y = add("Gelu", [y], "gelu")
    if opset >= 23:
        y = add("RMSNormalization", [y, "ones"], "rms")
    made[-1].output[0] = "y"
    return model(made, [value("x", ["rows", 3, 6])], [value("y", ["rows", 3, 6])], initializers, opset=opset)


def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [output])


def control_flow():
    """(kind, model, inputs)"""
    x, y, v = value("x", ["n", 2]), value("y", ["n", 2]), np.array([[1, -2], [3, 4]], np.float32)
    up, down = (branch(op, [node(op, ["x", "two"], [f"{op}_out"])], value(f"{op}_out", ["n", 2])) for op in ("Mul", "Div"))
    two, choice = numbers("two", 2), node("If", ["c"], ["y"], "choice", then_branch=up, else_branch=down)
    yield "If of a constant", model([choice], [x], [y], [two, scalar("c", BOOL, 1)]), [v]
    for c in (True, False):
        yield f"If of an input: {c}", model([choice], [x, value("c", [], BOOL)], [y], [two]), [v, np.array(c)]
    test = [node("ReduceMax", ["x"], ["largest"], keepdims=0), node("Greater", ["largest", "two"], ["c"])]
    for sign in (1, -1):
        yield f"If of values: {sign}", model(test + [choice], [x], [y], [two]), [sign * v]
    other = branch("other", [node("Relu", ["x"], ["inner_other"])], value("inner_other", ["n", 2]))
    nested = branch("nested", [node("If", ["c"], ["inner"], "within", then_branch=up, else_branch=other)], value("inner", ["n", 2]))
    yield "If within If", model([node("If", ["c"], ["y"], "around", then_branch=nested, else_branch=down)],
                                [x, value("c", [], BOOL)], [y], [two]), [v, np.array(True)]
    body = helper.make_graph([node("Identity", ["go"], ["on"]), node("Mul", ["state", "two"], ["next"]),
                              node("ReduceSum", ["state"], ["seen"], keepdims=0)], "body",
                             [value("i", [], INT64), value("go", [], BOOL), value("state", ["n", 2])],
                             [value("on", [], BOOL), value("next", ["n", 2]), value("seen", [])])
    loop = node("Loop", ["times", "start", "x"], ["y", "seen_all"], "loop", body=body)
    yield "Loop", model([loop], [x], [y, value("seen_all", ["k"])],
                        [two, scalar("times", INT64, 3), scalar("start", BOOL, 1)]), [v]
    yield "Loop of an input", model([loop], [x, value("times", [], INT64)], [y, value("seen_all", ["k"])],
                                    [two, scalar("start", BOOL, 1)]), [v, np.array(4)]
    step = helper.make_graph([node("Add", ["sum", "item"], ["total"]), node("Identity", ["total"], ["so_far"])], "step",
                             [value("sum", [2]), value("item", [2])], [value("total", [2]), value("so_far", [2])])
    yield "Scan", model([node("Scan", ["zero", "x"], ["last", "y"], "scan", body=step, num_scan_inputs=1)], [x],
                        [value("last", [2]), y], [numbers("zero", [0, 0])]), [v]


def functions():
    """(kind, model, inputs)"""
    x, y, v = value("x", ["n", 2]), value("y", ["n", 2]), np.array([[1, -2]], np.float32)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    positive = helper.make_function("local", "Positive", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets)
    leaky = helper.make_function("local", "Leaky", ["a"], ["b"],
                                 [node("LeakyRelu", ["a"], ["b"])], opsets, ["alpha"])
    leaky.node[0].attribute.append(AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="alpha"))
    twice = helper.make_function("local", "Twice", ["a"], ["b"], [
        node("Positive", ["a"], ["c"], domain="local"), node("Positive", ["c"], ["b"], domain="local")], opsets)
    for kind, call, used in (("a function", node("Positive", ["x"], ["y"], "call", domain="local"), [positive]),
                             ("a function with an attribute", node("Leaky", ["x"], ["y"], "call", domain="local", alpha=0.5), [leaky]),
                             ("a function that calls one", node("Twice", ["x"], ["y"], "call", domain="local"), [positive, twice])):
        yield kind, model([call], [x], [y], functions=used), [v]


def attributes():
    """(type, model, inputs): an operator that has an attribute of this type."""
    x, y, v = value("x", ["n", 2]), value("y", ["n", 2]), np.array([[1, -2], [3, 4]], np.float32)
    plus = node("Add", ["x", "w"], ["y"], "plus")
    yield "FLOAT", model([node("Elu", ["x"], ["y"], "it", alpha=0.5)], [x], [y]), [v]
    yield "INT", model([node("Softmax", ["x"], ["y"], "it", axis=1)], [x], [y]), [v]
    yield "STRING", model([node("Einsum", ["x", "w"], ["y"], "it", equation="nk,km->nm")], [x], [y],
                          [numbers("w", [[1, 2], [3, 4]])]), [v]
    yield "TENSOR", model([node("Constant", [], ["w"], "it", value=numbers("", [1, 2])), plus], [x], [y]), [v]
    yield "GRAPH", next(control_flow())[1], [v]
    sparse = helper.make_sparse_tensor(numbers("", [5]), whole_numbers("", [1]), [2])
    yield "SPARSE_TENSOR", model([node("Constant", [], ["w"], "it", sparse_value=sparse), plus], [x], [y]), [v]
    kind = helper.make_tensor_type_proto(FLOAT, ["n", 2])
    yield "TYPE_PROTO", model([node("Optional", ["x"], ["o"], "it", type=kind), node("OptionalGetElement", ["o"], ["y"])],
                              [x], [y]), [v]
    yield "FLOATS", model([node("Constant", [], ["w"], "it", value_floats=[1.0, 2.0]), plus], [x], [y]), [v]
    yield "INTS", model([node("Transpose", ["x"], ["t"], "it", perm=[1, 0]), node("Transpose", ["t"], ["y"])], [x], [y]), [v]
    rows = value("x", [3, "n", 2])
    yield "STRINGS", model([node("RNN", ["x", "w", "r"], ["y"], "it", activations=["Relu"], hidden_size=2)], [rows],
                           [value("y", [3, 1, "n", 2])], [numbers("w", [[[1, 2], [3, 4]]]), numbers("r", [[[1, 0], [0, 1]]])]), \
        [np.arange(12, dtype=np.float32).reshape(3, 2, 2)]
    lists = {"TENSORS": [numbers("", [1])], "GRAPHS": [branch("g", [node("Relu", ["x"], ["g_out"])], value("g_out", ["n", 2]))],
             "SPARSE_TENSORS": [sparse], "TYPE_PROTOS": [kind]}
    for name, content in lists.items():  # no operator of the standard has one
        yield name, model([node("Strange", ["x"], ["y"], "it", domain="local", what=content)], [x], [y]), [v]


REFUSED = {"a function": "node 'call' (Positive)", "a function with an attribute": "node 'call' (Leaky)",
           "a function that calls one": "node 'call' (Twice)",
           "TYPE_PROTO": "node 'it' (Optional)", "TENSORS": "node 'it' (Strange)", "GRAPHS": "node 'it' (Strange)",
           "SPARSE_TENSORS": "node 'it' (Strange)", "TYPE_PROTOS": "node 'it' (Strange)"}


class Features(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "m.onnx")

    def check(self, kind, made, inputs, *options):
        """Onnxruntime's outputs, or those of `REFUSED`."""
        onnx.save(made, self.file)
        names = [i.name for i in made.graph.input]
        shapes = [f"--shape={n}={'x'.join(map(str, v.shape))}" for n, v in zip(names, inputs)]
        for flags in ([], shapes):
            done = infer(self.file, inputs, *flags, *options)
            if kind in REFUSED:
                self.assertEqual(done.code, 2, done.document)
                self.assertIn("m.onnx: ", done.message)
                self.assertIn(REFUSED[kind], done.message)
                continue
            if done.code != 0 and not flags:  # a scalar beside free dimensions, or a free dimension in the middle
                self.assertIn("--shape", done.message)
                continue
            self.assertEqual(done.code, 0, done.error)
            session = onnxruntime.InferenceSession(self.file, providers=["CPUExecutionProvider"])
            for got, expected in zip(done.outputs, session.run(None, dict(zip(names, inputs))), strict=True):
                self.assertEqual(got.shape, expected.shape)
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def test_opsets(self):
        x = np.random.default_rng(1).standard_normal((2, 3, 6)).astype(np.float32)
        for opset in range(7, 24):
            with self.subTest(opset):
                self.check(opset, opset_model(opset), [x])

    def test_control_flow_and_functions(self):
        for kind, made, inputs in (*control_flow(), *functions()):
            with self.subTest(kind):
                self.check(kind, made, inputs)

    def test_attributes_of_every_type(self):
        kinds = {k for k in AttributeProto.AttributeType.keys() if k != "UNDEFINED"}
        self.assertEqual({kind for kind, _, _ in attributes()}, kinds)
        for kind, made, inputs in attributes():
            with self.subTest(kind):
                self.assertIn(AttributeProto.AttributeType.Value(kind), {a.type for n in made.graph.node for a in n.attribute})
                self.check(kind, made, inputs)

    def test_external_data(self):
        w = np.arange(4, dtype=np.float32).reshape(2, 2)
        made = model([node("MatMul", ["x", "w"], ["t"]), node("Add", ["t", "b"], ["y"])], [value("x", ["n", 2])],
                     [value("y", ["n", 2])], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(w[1], "b")])
        onnx.save(made, self.file, save_as_external_data=True, location="weights.bin", size_threshold=0)
        x = np.array([[1, -2], [3, 4], [0, 1]], np.float32)
        done = infer(self.file, [x])
        self.assertEqual(done.code, 0, done.error)
        np.testing.assert_allclose(done.outputs[0], x @ w + w[1])

    def test_without_openvino_the_message_says_operator_node_and_what_to_install(self):
        program = self.file.with_name("troupe")
        program.write_bytes(Path(processes.PROGRAM).read_bytes())  # no component beside it
        program.chmod(0o755)
        onnx.save(model([node("Elu", ["x"], ["y"], "curve")], [value("x", ["n", 2])], [value("y", ["n", 2])]), self.file)
        done = subprocess.run([program, "infer", "--model-file", self.file, "--input", self.file, "--output", "/dev/null"],
                              capture_output=True, text=True, timeout=processes.PATIENCE)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^[^\n]*m\.onnx: operators that are not supported: node 'curve' \(Elu\);[^\n]*; by "
                                      r"OpenVINO: libtroupe_openvino\.so is not installed; run tools/install[^\n]*\n$")


if __name__ == "__main__":
    cluster.main()
