"""Small ONNX models, made for a test."""
from onnx import TensorProto, helper


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers, **more)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10 if opset > 20 else 8)


def whole_numbers(name, numbers):
    return helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)


def scalar(name, kind, number):
    return helper.make_tensor(name, kind, [], [number])
