"""Operators that work number by number."""
import numpy as np
from onnx import helper

from .model import BOOL, FLOAT, INT32, INT64, number


def unary(op, low=-4.0, high=4.0, **attributes):
    def make(m):
        drawn = {k: f(m) for k, f in attributes.items()}
        m.output(m.node(op, [m.input(m.dims(0, 3), low=low, high=high)], **drawn))
    return make


def hard_swish(m):
    m.opset = max(m.opset, 14)
    m.output(m.node("HardSwish", [m.input(m.dims(1, 3), low=-5, high=5)]))


def clip(m):
    x = m.input(m.dims(0, 3))
    low = m.constant(np.float32(-m.rng.random())) if m.maybe() else ""
    high = m.constant(np.float32(m.rng.random())) if m.maybe() else ""
    m.output(m.node("Clip", [x, low, high][:3 if high else 2 if low else 1]))


def operands(m, low, high, dtype=FLOAT):
    """Two that broadcast to something with the batch in front; the second one may be a constant."""
    dims = m.dims(0, 3)
    other = [d if m.maybe(0.7) else 1 for d in dims]
    x = m.input(dims, dtype, low, high)
    if m.maybe(0.4):
        return x, m.input(other, dtype, low, high)
    other = other[m.pick(0, len(other)):]
    return x, m.constant(m.numbers(other, dtype, low, high))


def binary(op, low=-2.0, high=2.0, kinds=(FLOAT, INT64, INT32)):
    def make(m):
        # integers only where no division by zero can be drawn
        dtype = m.one_of(*kinds) if op != "Div" else FLOAT
        pair = list(operands(m, low, high, dtype))
        if m.maybe(0.3) and pair[1] in m.values:
            pair.reverse()
        m.output(m.node(op, pair))
    return make


def power(m):
    m.opset = max(m.opset, 12)
    x = m.input(m.dims(0, 3), low=0.3, high=2)
    exponent = m.one_of(m.constant(np.float32(m.rng.uniform(-2, 3))), m.constant(np.int64(m.pick(-2, 3))),
                        m.weights([1]))
    m.output(m.node("Pow", [x, exponent]))


def where(m):
    dims = m.dims(0, 3)
    part = lambda: [d if m.maybe(0.7) else 1 for d in dims]
    dtype = m.one_of(FLOAT, FLOAT, INT64)
    condition = m.input(dims, BOOL)
    tail = lambda d: d[m.pick(0, len(d)):]
    y = m.input(part(), dtype) if m.maybe() else m.constant(m.numbers(tail(part()), dtype))
    z = m.input(part(), dtype) if m.maybe() else m.constant(m.numbers(tail(part()), dtype))
    m.output(m.node("Where", [condition, y, z]))


def compare(op):
    def make(m):
        if op.endswith("OrEqual"):
            m.opset = max(m.opset, 12)
        dtype = m.one_of(FLOAT, INT64, INT32, *([BOOL] if op == "Equal" else []))
        m.output(m.node(op, operands(m, -1, 1, dtype)))
    return make


def not_(m):
    m.output(m.node("Not", [m.input(m.dims(0, 3), BOOL)]))


def cast(m):
    source, target = m.one_of(FLOAT, INT64, INT32, BOOL), m.one_of(FLOAT, INT64, INT32, BOOL)
    m.output(m.node("Cast", [m.input(m.dims(0, 3), source)], to=helper.np_dtype_to_tensor_dtype(np.dtype(target))))


ELEMENTWISE = {
    "Add": binary("Add"), "Sub": binary("Sub"), "Mul": binary("Mul"), "Div": binary("Div", 0.5, 2), "Pow": power,
    "Relu": unary("Relu"), "LeakyRelu": unary("LeakyRelu", alpha=number(0, 0.5)), "Sigmoid": unary("Sigmoid"),
    "HardSigmoid": unary("HardSigmoid", alpha=number(0.1, 0.5), beta=number(0.2, 0.7)), "HardSwish": hard_swish,
    "Tanh": unary("Tanh"), "Sqrt": unary("Sqrt", 0.1), "Exp": unary("Exp"), "Erf": unary("Erf"), "Clip": clip,
    **{op: compare(op) for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")}, "Not": not_,
    "Where": where, "Cast": cast,
}
