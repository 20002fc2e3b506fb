"""Operators that move elements and compute shapes."""
import numpy as np
from onnx import numpy_helper

from .model import FLOAT, INT32, INT64, TYPES, number


def some_type(m):
    return m.one_of(FLOAT, FLOAT, *TYPES)


def axes_of(m, op, x, axes):
    if m.opset < 13:
        return m.node(op, [x], axes=axes)
    return m.node(op, [x, m.ints(axes)])


def squeeze(m):
    dims = m.dims(1, 3)
    dims.insert(m.pick(0, len(dims)), 1)
    if m.maybe(0.2):
        m.rows = max(m.rows, 2)  # dimensions of 1 are removed
        return m.output(m.node("Squeeze", [m.input(dims, some_type(m))]))
    axes = [i + 1 for i, d in enumerate(dims) if d == 1]
    axes = [int(a) for a in m.rng.permutation(axes)[:m.pick(1, len(axes))]]
    axes = [a - len(dims) - 1 if m.maybe(0.3) else a for a in axes]
    m.output(axes_of(m, "Squeeze", m.input(dims, some_type(m)), axes))


def unsqueeze(m):
    dims = m.dims(0, 3)
    count = m.pick(1, 2)
    rank = len(dims) + 1 + count
    axes = [int(a) for a in 1 + m.rng.permutation(rank - 1)[:count]]
    axes = [a - rank if m.maybe(0.3) else a for a in axes]
    m.output(axes_of(m, "Unsqueeze", m.input(dims, some_type(m)), axes))


def flatten(m):
    dims = m.dims(1, 3)
    m.output(m.node("Flatten", [m.input(dims)], axis=m.one_of(1, None, -len(dims))))


def reshape(m):
    dims = m.dims(1, 3)
    wanted = m.one_of([0, -1], [-1, int(np.prod(dims))], [0, *reversed(dims)], [0, 1, -1])
    m.output(m.node("Reshape", [m.input(dims, some_type(m)), m.ints(wanted)]))


def transpose(m):
    dims = m.dims(1, 4)
    if m.maybe(0.2):  # reversed, and back
        return m.output(m.node("Transpose", [m.node("Transpose", [m.input(dims, some_type(m))])]))
    m.output(m.node("Transpose", [m.input(dims, some_type(m))],
                    perm=[0, *(int(p) for p in 1 + m.rng.permutation(len(dims)))]))


def concat(m):
    dims = m.dims(1, 3)
    axis = m.pick(1, len(dims))
    dtype = some_type(m)
    inputs = []
    for _ in range(m.pick(1, 4)):
        dims[axis - 1] = m.pick(1, 4)
        inputs.append(m.input(list(dims), dtype))
    m.output(m.node("Concat", inputs, axis=m.one_of(axis, axis - len(dims) - 1)))


def gather(m):
    dims = m.dims(1, 3)
    axis = m.pick(1, len(dims))
    d = dims[axis - 1]
    if m.maybe(0.3):  # rows of a table
        table = m.weights([7, *m.dims(0, 1)])
        return m.output(m.node("Gather", [table, m.input(m.dims(0, 2), m.one_of(INT64, INT32), -7, 6)]))
    indices = m.constant(m.numbers(m.dims(0, 2), m.one_of(INT64, INT32), -d, d - 1))
    return m.output(m.node("Gather", [m.input(dims, some_type(m)), indices], axis=m.one_of(axis, axis - len(dims) - 1)))


def slice_(m):
    dims = m.dims(1, 4)
    axes = [int(a) for a in 1 + m.rng.permutation(len(dims))[:m.pick(1, len(dims))]]
    stepping = m.maybe(0.7)  # else without steps
    named = m.maybe(0.7)  # else without axes: all up to one, the batch included
    if not named:
        axes = list(range(1, 1 + len(axes)))
    starts, ends, steps = [], [], []
    for a in axes:
        d = dims[a - 1]
        first, last = sorted((m.pick(0, d - 1), m.pick(0, d - 1)))
        step = m.pick(1, 3)
        end = m.one_of(last + 1, last + 1, last + 1 - d if last + 1 < d else 2**63 - 1)
        if not stepping:
            step = 1
        elif m.maybe(0.4):  # backwards
            first, end, step = last, m.one_of(first - 1 if first > 0 else -2**63, -2**63), -step
            end = end if end < 0 or m.maybe() else end - d
        starts.append(first - d if m.maybe(0.3) else first)
        ends.append(end)
        steps.append(step)
    if not named:
        axes, starts, ends, steps = [0, *axes], [0, *starts], [2**63 - 1, *ends], [1, *steps]
    axes = [a - len(dims) - 1 if m.maybe(0.3) else a for a in axes]
    inputs = [m.input(dims, some_type(m)), m.ints(starts), m.ints(ends)]
    if named or stepping:
        inputs.append(m.ints(axes) if named else "")
    if stepping:
        inputs.append(m.ints(steps))
    m.output(m.node("Slice", inputs))


def split(m):
    dims = m.dims(1, 3)
    axis = m.pick(1, len(dims))
    count = m.pick(1, 3)
    equal = m.maybe(0.4)
    sizes = [m.pick(1, 3) for _ in range(count)] if not equal else [2] * count
    dims[axis - 1] = sum(sizes)
    inputs, a = [m.input(dims, some_type(m))], {"axis": m.one_of(axis, axis - len(dims) - 1)}
    if not equal and m.opset < 13:
        a["split"] = sizes
    elif not equal:
        inputs.append(m.ints(sizes))
    outputs = m.node("Split", inputs, count, **a)
    m.output(*(outputs if count > 1 else [outputs]))


def pad(m):
    dims = m.dims(1, 4)
    mode = m.one_of("constant", "constant", "edge", "reflect", None)
    dtype = m.one_of(FLOAT, FLOAT, INT64, INT32, np.uint8)
    highest = [d - 1 if mode == "reflect" else 3 for d in dims]
    lowest = [-((d - 1) // 2) for d in dims]
    side = lambda: [0, *(m.pick(low, high) for low, high in zip(lowest, highest))]
    before, after = side(), side()
    if mode == "reflect":  # no more than the remaining size
        highest = [1, *dims] + np.minimum(before, 0) + np.minimum(after, 0) - 1
        before, after = np.minimum(before, highest), np.minimum(after, highest)
    inputs = [m.input(dims, dtype), m.ints([*before, *after])]
    if mode in ("constant", None) and m.maybe():
        inputs.append(m.constant(m.numbers([], dtype)))
    m.output(m.node("Pad", inputs, mode=mode))


def expand(m):
    dims = [d if m.maybe() else 1 for d in m.dims(1, 3)]
    wanted = [m.pick(1, 5) if d == 1 else m.one_of(1, d) for d in dims]
    wanted = [1, *wanted][m.pick(0, len(wanted)):]
    m.output(m.node("Expand", [m.input(dims, some_type(m)), m.ints(wanted)]))


def constant_of_shape(m):
    """Filled to the shape of the input."""
    x = m.input(m.dims(1, 3))
    value = m.one_of(None, np.float32([1.5]), np.int64([7]), np.bool_([True]))
    filled = m.node("ConstantOfShape", [m.node("Shape", [x])],
                    value=None if value is None else numpy_helper.from_array(value))
    m.output(filled)


def dropout(m):
    inputs = [m.input(m.dims(0, 3))]
    if m.opset < 12:
        return m.output(m.node("Dropout", inputs, ratio=number(0, 0.9)(m)))
    if m.maybe():
        inputs.append(m.constant(np.float32(0.3)) if m.maybe(0.7) else "")
        if not inputs[1] or m.maybe():
            inputs.append(m.constant(np.bool_(False)))
    if m.maybe(0.3):
        return m.output(*m.node("Dropout", inputs, 2))
    return m.output(m.node("Dropout", inputs))


def shape(m):
    """A value computed from one input, added to another."""
    dims = m.dims(1, 3)
    a, count = {}, len(dims) + 1
    if m.opset >= 15 and m.maybe(0.7):
        start, end = sorted(int(i) for i in m.rng.permutation(count + 1)[:2])
        a = {"start": m.one_of(start, start - count) if start < count else start, "end": end}
        if m.maybe(0.3) and end < count:
            a["end"] = end - count
        count = end - start
    known = m.node("Shape", [m.input(dims, some_type(m))], **a)
    m.output(m.node("Add", [m.input([count], INT64), known]))


def identity(m):
    m.output(m.node("Identity", [m.input(m.dims(0, 3), some_type(m))]))


SHAPES = {
    "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Flatten": flatten, "Reshape": reshape, "Transpose": transpose,
    "Concat": concat, "Gather": gather, "Slice": slice_, "Split": split, "Pad": pad, "Expand": expand,
    "ConstantOfShape": constant_of_shape, "Dropout": dropout, "Identity": identity, "Shape": shape,
}
