"""Elementwise operators."""
import numpy as np
from onnx import TensorProto, helper

from .model import BOOL, DOUBLE, FLOAT, HALF, INT32, INT64, TYPES, number


def unary(op, low=-4.0, high=4.0, **attributes):
    def make(m):
        drawn = {k: f(m) for k, f in attributes.items()}
        m.output(m.node(op, [m.input(m.dims(0, 3), low=low, high=high)], **drawn))
    return make


def hard_swish(m):
    m.output(m.node("HardSwish", [m.input(m.dims(1, 3), low=-5, high=5)]))


def clip(m):
    x = m.input(m.dims(0, 3))
    low, high = -m.rng.random(), m.rng.random()
    if m.maybe(0.1):
        low, high = high, low
    low = m.constant(np.float32(low)) if m.maybe() else ""
    high = m.constant(np.float32(high)) if m.maybe() else ""
    given = 3 if high else 2 if low else 1
    m.output(m.node("Clip", [x, low, high][:m.pick(given, 3)]))


def operands(m, low, high, dtype=FLOAT):
    """Two operands that broadcast to a shape with the batch in front; the second one may be a constant."""
    dims = m.dims(0, 3)
    other = [d if m.maybe(0.7) else 1 for d in dims]
    x = m.input(dims, dtype, low, high)
    if m.maybe(0.4):
        return x, m.input(other, dtype, low, high)
    other = other[m.pick(0, len(other)):]
    return x, m.constant(m.numbers(other, dtype, low, high))


def binary(op):
    def make(m):
        dtype = m.one_of(FLOAT, FLOAT, DOUBLE, INT64, INT32)
        pair = list(operands(m, -2, 2, dtype))
        if m.maybe(0.3) and pair[1] in m.values:
            pair.reverse()
        m.output(m.node(op, pair))
    return make


def divide(m):
    """Negative dividends and divisors, but no division by zero."""
    dtype = m.one_of(FLOAT, FLOAT, DOUBLE, INT64, INT32)
    low, high = m.one_of((-9, -2), (2, 9)) if m.maybe() else (1, 2)
    dims = m.dims(0, 3)
    x = m.input(dims, dtype, -20, 20)
    other = [d if m.maybe(0.7) else 1 for d in dims]
    y = m.input(other, dtype, low, high) if m.maybe() else m.constant(
        m.numbers(other[m.pick(0, len(other)):], dtype, low, high))
    m.output(m.node("Div", [x, y]))


def power(m):
    """Since opset 12 the exponent may be of another type. For integers, no exponents that give fractions."""
    mixed = m.opset >= 12
    dtype = m.one_of(FLOAT, FLOAT, DOUBLE, *((INT32, INT64) if mixed else ()))
    whole = dtype in (INT32, INT64)
    exponent = m.one_of(FLOAT, DOUBLE, INT32, INT64) if mixed else dtype
    dims = m.dims(0, 3)
    x = m.input(dims, dtype, -4 if whole else 0.3, 4 if whole else 2)
    numbers = m.numbers(m.one_of([], [1], dims), INT64 if whole else exponent, 0 if whole else -2, 3)
    m.output(m.node("Pow", [x, m.constant(numbers, exponent)]))


def where(m):
    dims = m.dims(0, 3)
    part = lambda: [d if m.maybe(0.7) else 1 for d in dims]
    dtype = m.one_of(FLOAT, FLOAT, DOUBLE, INT64, INT32, np.uint8)  # the subset of ONNX's types that onnxruntime supports
    condition = m.input(dims, BOOL)
    tail = lambda d: d[m.pick(0, len(d)):]
    y = m.input(part(), dtype) if m.maybe() else m.constant(m.numbers(tail(part()), dtype))
    z = m.input(part(), dtype) if m.maybe() else m.constant(m.numbers(tail(part()), dtype))
    m.output(m.node("Where", [condition, y, z]))


def compare(op):
    def make(m):
        dtype = m.one_of(FLOAT, DOUBLE, INT64, INT32, *([BOOL] if op == "Equal" else []))
        m.output(m.node(op, operands(m, -1, 1, dtype)))
    return make


def not_(m):
    m.output(m.node("Not", [m.input(m.dims(0, 3), BOOL)]))


def cast(m):
    """Any type to any other, also by way of BF16, which numpy lacks. Only values that fit: others are undefined."""
    source, target = m.one_of(*TYPES), m.one_of(*TYPES)
    unsigned = any(np.issubdtype(t, np.unsignedinteger) for t in (source, target))
    size = m.one_of(3, 100)
    x = m.input(m.dims(0, 3), source, 0 if unsigned else -size, size)
    if source in (FLOAT, DOUBLE) and target == HALF and m.maybe():
        m.values[x] = m.values[x] * source(10.0) ** m.rng.integers(-9, 4)  # subnormal, and infinite
    # Not for FP64, which onnxruntime does not round to the nearest BF16, and not to integers, where it skips
    # BF16.
    if m.opset >= 13 and source != DOUBLE and np.issubdtype(target, np.floating) and m.maybe(0.2):
        x = m.node("Cast", [x], to=TensorProto.BFLOAT16)
    if target != HALF and m.maybe(0.3):  # a non-zero number is true, and 1 afterwards
        x = m.node("Cast", [x], to=TensorProto.BOOL)
    x = m.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    m.output(m.node("Add", [x, x]) if target == FLOAT and m.maybe() else x)


ELEMENTWISE = {
    "Add": binary("Add"), "Sub": binary("Sub"), "Mul": binary("Mul"), "Div": divide, "Pow": power,
    "Relu": unary("Relu"), "LeakyRelu": unary("LeakyRelu", alpha=number(0, 0.5)), "Sigmoid": unary("Sigmoid"),
    "HardSigmoid": unary("HardSigmoid", alpha=number(0.1, 0.5), beta=number(0.2, 0.7)), "HardSwish": hard_swish,
    "Tanh": unary("Tanh"), "Sqrt": unary("Sqrt", 0.1), "Exp": unary("Exp"), "Erf": unary("Erf"), "Clip": clip,
    **{op: compare(op) for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")}, "Not": not_,
    "Where": where, "Cast": cast,
}
