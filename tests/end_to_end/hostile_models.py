"""Well-formed ONNX files that no program should run: `Hostile` says how each ends. Beside them some that look alike and do run."""
import struct
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto, helper

from onnx_models import model, scalar, value, whole_numbers

node = helper.make_node
NATIVE, OPENVINO = "native", "openvino"


@dataclass
class Hostile:
    kind: str
    model: onnx.ModelProto
    says: str = ""  # the node or tensor in the message of each engine that refuses the model
    runs: tuple = ()  # engines that run it
    native: str = ""  # what the native engine says instead
    input: bytes = field(default=struct.pack("<2f", -1, 2))
    output: bytes = field(default=struct.pack("<2f", 0, 2))  # of engines that run it


def structures():
    x, y = value("x", ["n", 2]), value("y", ["n", 2])
    relu, add_w = node("Relu", ["x"], ["y"]), node("Add", ["x", "w"], ["y"], "plus")
    yield Hostile("a cycle", model([node("Add", ["x", "z"], ["y"]), node("Add", ["y", "y"], ["z"])], [x], [y]),
                  "node 'y' (Add) reads 'z'")
    yield Hostile("a node that reads itself", model([node("Add", ["x", "y"], ["y"], "me")], [x], [y]),
                  "node 'me' (Add) reads 'y'")
    inner = helper.make_graph([node("Add", ["x", "b"], ["b"], "inside")], "branch", [], [value("b", ["n", 2])])
    yield Hostile("a cycle in a branch", model([node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], [x], [y],
                                               [scalar("c", TensorProto.BOOL, 1)]), "node 'inside' (Add) reads 'b'")
    yield Hostile("no nodes", model([], [x], [y]), "output 'y' is computed by no node")
    yield Hostile("no outputs", model([relu], [x], []), "has no output")
    yield Hostile("an output twice", model([relu, relu], [x], [y]), "node 'y' (Relu)")
    yield Hostile("an input twice", model([relu], [x, x], [y]), "input 'x'")
    yield Hostile("an unknown operator", model([node("Frobnicate", ["x"], ["y"], "knob")], [x], [y]), "node 'knob' (Frobnicate)")
    f = helper.make_function("local", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    yield Hostile("a function", model([node("F", ["x"], ["y"], "call", domain="local")], [x], [y], functions=[f]),
                  "node 'call' (F)")
    g = helper.make_function("local", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")],
                             [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    yield Hostile("a function that calls itself",
                  model([node("F", ["x"], ["y"], "call", domain="local")], [x], [y], functions=[g]), "node 'call' (F)")
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, ["n", 2])
    yield Hostile("a sequence", model([node("SequenceAt", ["x", "i"], ["y"], "take")], [sequence], [y], [whole_numbers("i", [0])]),
                  "node 'take' (SequenceAt)", native="input 'x'")
    yield Hostile("shapes that contradict", model([add_w], [x], [y], [helper.make_tensor("w", TensorProto.FLOAT, [3], [1, 2, 3])]),
                  "node 'plus' (Add)")
    branch = helper.make_graph([node("Identity", ["x"], ["b"])], "branch", [], [value("b", ["n", 2])])
    same = struct.pack("<2f", -1, 2)
    yield Hostile("control flow", model([node("If", ["c"], ["y"], "choose", then_branch=branch, else_branch=branch)], [x], [y],
                                        [scalar("c", TensorProto.BOOL, 1)]),
                  runs=(OPENVINO,), native="node 'choose' (If)", output=same)
    body = helper.make_graph([node("Identity", ["c"], ["d"]), node("Identity", ["v"], ["w"])], "body",
                             [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", ["n", 2])],
                             [value("d", [], TensorProto.BOOL), value("w", ["n", 2])])
    yield Hostile("a loop", model([node("Loop", ["times", "c", "x"], ["y"], "repeat", body=body)], [x], [y],
                                  [scalar("c", TensorProto.BOOL, 1), scalar("times", TensorProto.INT64, 3)]),
                  "node 'repeat' (Loop)")
    strange = node("Relu", ["x"], ["y"], "strange")
    strange.attribute.extend([helper.make_attribute("s", "text"), helper.make_attribute("ss", ["a", "b"]),
                              helper.make_attribute("g", branch), helper.make_attribute("t", whole_numbers("t", [1]))])
    yield Hostile("attributes of every kind", model([strange], [x], [y]), runs=(OPENVINO,),
                  native="node 'strange' (Relu)")
    for opset, runs in ((1, (OPENVINO,)), (7, (OPENVINO,)), (13, (NATIVE, OPENVINO)), (23, (OPENVINO,)), (99, (OPENVINO,))):
        yield Hostile(f"opset {opset}", model([relu], [x], [y], opset=opset), runs=runs, native=f"opset {opset} ")
    deep = [node("Relu", ["x" if i == 0 else f"t{i}"], [f"t{i + 1}" if i < 4999 else "y"]) for i in range(5000)]
    yield Hostile("five thousand nodes in a row", model(deep, [x], [y]), runs=(NATIVE, OPENVINO))


def sizes():
    """Absurd shapes, and weights that are not there."""
    x, y = value("x", ["n", 2]), value("y", ["n", 2])
    relu, add_w = node("Relu", ["x"], ["y"]), node("Add", ["x", "w"], ["y"], "plus")
    yield Hostile("an input without a type", model([relu], [onnx.ValueInfoProto(name="x")], [y]), "input 'x'")
    yield Hostile("a huge dimension", model([relu], [value("x", ["n", 1 << 62])], [value("y", ["n", 1 << 62])]), "input 'x'")
    yield Hostile("dimensions that overflow", model([relu], [value("x", ["n"] + [1 << 16] * 8)], [y]), "input 'x'")
    yield Hostile("a negative dimension", model([relu], [value("x", [-5, 2])], [y]), "input 'x'")
    for kind, dims in (("huge", [1 << 40, 1 << 20]), ("that overflow", [1 << 32, 1 << 32]), ("small", [2]), ("negative", [-2])):
        w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims)
        yield Hostile(f"an initializer without its bytes, {kind}", model([add_w], [x], [y], [w]), "initializer 'w'")
    cut = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], raw_data=struct.pack("<f", 1))
    yield Hostile("an initializer that is cut off", model([add_w], [x], [y], [cut]), "initializer 'w'")
    constant = node("Constant", [], ["w"], "fixed", value=TensorProto(data_type=TensorProto.FLOAT, dims=[1 << 40]))
    yield Hostile("a constant without its bytes", model([constant, add_w], [x], [y]), "node 'fixed' (Constant)")
    for kind, at in (("missing", "nowhere.bin"), ("outside", "../../../../etc/passwd"), ("a device", "/dev/zero")):
        w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        w.external_data.add(key="location", value=at)
        yield Hostile(f"external data, {kind}", model([add_w], [x], [y], [w]), "initializer 'w'")


def bombs():
    """A few bytes that ask for gigabytes, most of them as constants that a reader computes at once."""
    x, y = value("x", ["n", 2]), value("y", ["n", 2])
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1])
    whole = lambda name, number: scalar(name, TensorProto.INT64, number)

    def bomb(kind, nodes, *initializers, says=None, native=""):
        """The nodes compute `big`, which is added to x as a sum."""
        last = [node("ReduceSum", ["big"], ["sum"], "total", keepdims=0), node("Add", ["x", "sum"], ["y"])]
        return Hostile(f"a bomb: {kind}", model(nodes + last, [x], [y], initializers),
                       says or f"node 'bomb' ({nodes[-1].op_type})", native=native or "node '")
    for power in (15, 20):  # gigabytes, which a machine may have, and terabytes
        shape = whole_numbers("shape", [1 << power, 1 << power])
        yield bomb(f"ConstantOfShape {power}", [node("ConstantOfShape", ["shape"], ["big"], "bomb")], shape)
        yield bomb(f"Expand {power}", [node("Expand", ["one", "shape"], ["big"], "bomb")], one, shape)
        area = 1 << 2 * power
        yield bomb(f"Tile {power}", [node("Tile", ["one", "by"], ["big"], "bomb")], one, whole_numbers("by", [area]))
        yield bomb(f"Pad {power}", [node("Pad", ["one", "by"], ["big"], "bomb")], one, whole_numbers("by", [0, area]))
        yield bomb(f"Range {power}", [node("Range", ["from", "to", "by"], ["long"], "bomb"),
                                      node("Cast", ["long"], ["big"], to=TensorProto.FLOAT)],
                   whole("from", 0), whole("to", area), whole("by", 1), says="node 'bomb' (Range)")
        yield bomb(f"OneHot {power}", [node("OneHot", ["at", "depth", "values"], ["big"], "bomb")], whole_numbers("at", [1]),
                   whole_numbers("depth", [area]), helper.make_tensor("values", TensorProto.FLOAT, [2], [0, 1]))
        yield bomb(f"MatMul {power}", [node("ConstantOfShape", ["a"], ["column"]), node("ConstantOfShape", ["b"], ["row"]),
                                       node("MatMul", ["column", "row"], ["big"], "bomb")],
                   whole_numbers("a", [1 << power, 1]), whole_numbers("b", [1, 1 << power]))
        doubled = [node("Concat", ["one" if i == 0 else f"c{i}"] * 2, ["big" if i + 1 == 2 * power else f"c{i + 1}"], "bomb",
                        axis=0) for i in range(2 * power)]
        many = bomb(f"Concat {power}", doubled, one)
        many.says, many.native = "(Concat)", "node 'total' (ReduceSum)"
        yield many
        # of the input: while it runs
        sums = [node("ReduceSum", ["big", "axis"], ["y"], "total", keepdims=0)]
        first = whole_numbers("axis", [0])
        yield Hostile(f"a bomb: Expand of the input {power}",
                      model([node("Expand", ["x", "shape"], ["big"], "bomb")] + sums, [x], [y],
                            [whole_numbers("shape", [area, 1, 2]), first]), "node 'bomb' (Expand)", native="node '")
        yield Hostile(f"a bomb: Tile of the input {power}",
                      model([node("Unsqueeze", ["x", "axis"], ["t"]), node("Tile", ["t", "by"], ["big"], "bomb")] + sums, [x], [y],
                            [whole_numbers("by", [area, 1, 1]), first]), "node 'bomb' (Tile)", native="node '")
    yield Hostile("a Range without end", model([node("Range", ["from", "to", "by"], ["r"], "bomb"),
                                                node("Add", ["x", "r"], ["y"])], [x], [y],
                                               [scalar(n, TensorProto.FLOAT, v) for n, v in (("from", 0), ("to", 2), ("by", 0))]),
                  "node 'bomb' (Range)")


def hostile_models():
    yield from structures()
    yield from sizes()
    yield from bombs()
