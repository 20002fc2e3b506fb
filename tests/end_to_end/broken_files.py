"""Broken and hostile files: cut off, with wrong bytes, and well-formed ones that no program should run."""
import random

import onnx
from onnx import TensorProto, helper

MUTANTS = 12


def damaged(content, seed=1):
    """(kind, content) of a file's damaged forms."""
    out = [("empty", b""), ("zeros", bytes(4096)), ("text", b"this is no such file\n"),
           ("noise", random.Random(seed).randbytes(4096))]
    out += [(f"cut at {n}", content[:n]) for n in {1, len(content) // 4, len(content) // 2, max(0, len(content) - 1)}]
    for i in range(MUTANTS):
        r = random.Random(f"{seed} {i}")
        bytes_ = bytearray(content)
        # the beginning of most formats has the structure, the end numbers
        for _ in range(r.randint(1, 8)):
            at = r.randrange(min(len(bytes_), 2048)) if i % 2 else r.randrange(len(bytes_))
            bytes_[at] = r.randrange(256)
        out.append((f"mutant {i}", bytes(bytes_)))
    return out


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers, **more)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=8)


def whole_numbers(name, numbers):
    return helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)


def hostile_models():
    """(kind, ModelProto) that the format allows, or that only the checker of ONNX refuses."""
    x, y = value("x", ["n", 2]), value("y", ["n", 2])
    relu = helper.make_node("Relu", ["x"], ["y"])
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["b"])], "branch", [], [value("b", ["n", 2])])
    yield "a cycle", model([helper.make_node("Add", ["x", "z"], ["y"]), helper.make_node("Add", ["y", "y"], ["z"])], [x], [y])
    yield "a node that reads itself", model([helper.make_node("Add", ["x", "y"], ["y"])], [x], [y])
    yield "no nodes", model([], [x], [y])
    yield "no outputs", model([relu], [x], [])
    yield "an output twice", model([relu, relu], [x], [y])
    yield "an input without a type", model([relu], [onnx.ValueInfoProto(name="x")], [y])
    yield "a negative dimension", model([relu], [value("x", [-5, 2])], [y])
    yield "a huge dimension", model([relu], [value("x", ["n", 1 << 62])], [value("y", ["n", 1 << 62])])
    yield "dimensions that overflow", model([relu], [value("x", ["n"] + [1 << 16] * 8)], [y])
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 40, 1 << 20])
    yield "an initializer without its bytes", model([helper.make_node("Add", ["x", "w"], ["y"])], [x], [y], [w])
    for kind, at in (("missing", "nowhere.bin"), ("outside", "../../../../etc/passwd"), ("a device", "/dev/zero")):
        w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        w.external_data.add(key="location", value=at)
        yield f"external data, {kind}", model([helper.make_node("Add", ["x", "w"], ["y"])], [x], [y], [w])
    bomb = helper.make_node("ConstantOfShape", ["shape"], ["huge"])
    yield "a bomb of a constant", model([bomb, helper.make_node("ReduceSum", ["huge"], ["sum"], keepdims=0),
                                         helper.make_node("Add", ["x", "sum"], ["y"])], [x], [y],
                                        [whole_numbers("shape", [1 << 20, 1 << 20])])
    yield "an expansion", model([helper.make_node("Expand", ["x", "shape"], ["big"]),
                                 helper.make_node("ReduceSum", ["big"], ["y"], keepdims=1)], [x], [y],
                                [whole_numbers("shape", [1 << 20, 1 << 20, 2])])
    true = helper.make_tensor("c", TensorProto.BOOL, [], [1])
    yield "control flow", model([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [x], [y],
                                [true])
    yield "control flow by an input", model([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)],
                                            [x, value("c", [], TensorProto.BOOL)], [y])
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["v"], ["w"])], "body",
                             [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", ["n", 2])],
                             [value("d", [], TensorProto.BOOL), value("w", ["n", 2])])
    yield "a loop", model([helper.make_node("Loop", ["times", "c", "x"], ["y"], body=body)], [x], [y],
                          [true, helper.make_tensor("times", TensorProto.INT64, [], [3])])
    f = helper.make_function("local", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])],
                             [helper.make_opsetid("", 17)])
    yield "a function", model([helper.make_node("F", ["x"], ["y"], domain="local")], [x], [y], functions=[f])
    g = helper.make_function("local", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="local")],
                             [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    yield "a function that calls itself", model([helper.make_node("F", ["x"], ["y"], domain="local")], [x], [y], functions=[g])
    yield "an unknown operator", model([helper.make_node("Frobnicate", ["x"], ["y"])], [x], [y])
    for opset in (1, 7, 13, 23, 99):
        yield f"opset {opset}", model([relu], [x], [y], opset=opset)
    strange = helper.make_node("Relu", ["x"], ["y"])
    strange.attribute.extend([helper.make_attribute("s", "text"), helper.make_attribute("ss", ["a", "b"]),
                              helper.make_attribute("g", branch), helper.make_attribute("t", whole_numbers("t", [1]))])
    yield "attributes of every kind", model([strange], [x], [y])
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, ["n", 2])
    yield "a sequence", model([helper.make_node("SequenceAt", ["x", "i"], ["y"])], [sequence], [y], [whole_numbers("i", [0])])
    deep = [helper.make_node("Relu", ["x" if i == 0 else f"t{i}"], [f"t{i + 1}" if i < 4999 else "y"]) for i in range(5000)]
    yield "five thousand nodes in a row", model(deep, [x], [y])
