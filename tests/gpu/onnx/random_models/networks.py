"""Small graphs like those in networks."""
import numpy as np
from onnx import TensorProto, numpy_helper


def reshaped(m, x, dims):
    """Reshapes to [batch, *dims], times the original number of dimensions: no fusion may change it."""
    rank = m.node("Cast", [m.node("Shape", [m.node("Shape", [x])])], to=TensorProto.FLOAT)
    return m.node("Mul", [m.node("Reshape", [x, m.ints([-1, *dims])]), rank])


def activation(m, x):
    op = m.one_of("Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "HardSigmoid",
                  "HardSwish" if m.opset >= 14 else "Relu")
    if op == "Clip":
        return m.node(op, [x, m.constant(np.float32(0)), m.constant(np.float32(1.5))])
    return m.node(op, [x])


def network(m):
    """Convolutions with typical surrounding operators, on feature maps that branch, join and are reused."""
    size = m.pick(5, 9)
    first = m.input([m.one_of(3, 8, 16), size, size])
    channels = {first: m.values[first].shape[1]}
    names = list(channels)

    def add(name, count):
        channels[name] = count
        names.append(name)

    def convolve(x):
        c, f, k = channels[x], m.one_of(8, 16, 16, 20), m.one_of(1, 3)
        groups = 1
        if m.maybe(0.2):
            f = groups = c
        op = m.one_of("Conv", "Conv", "Conv", "ConvTranspose")
        w = m.weights([f, c // groups, k, k] if op == "Conv" else [c, f // groups, k, k], -0.4, 0.4)
        y = m.node(op, [x, w] + ([m.weights([f])] if m.maybe() else []), pads=[k // 2] * 4, group=groups)
        if m.maybe(0.5):
            y = m.node("BatchNormalization", [y, *m.statistics(f)])
        elif m.maybe(0.3):
            dims = m.one_of([f, 1, 1], [f, 1, 1], [1, f, 1, 1], [], [1], [1, 1, 1], [1, 1, f, 1, 1])
            y = m.node(m.one_of("Mul", "Add"), [y, m.weights(dims)])
            if len(dims) > 4:
                y = reshaped(m, y, [f, size, size])
        return y, f

    for _ in range(m.pick(3, 9)):
        x = m.one_of(*names[-3:])
        c = channels[x]
        kind = m.one_of("conv", "conv", "conv", "residual", "residual", "activation", "pool", "concat", "add",
                        "idle", "norm", "slice", "pad", "scale")
        if kind == "conv":
            add(*convolve(x))
        elif kind == "residual":
            y, f = convolve(x)
            same = [n for n in names if channels[n] == f]
            if same:
                pair = [y, m.one_of(*same)]
                y = m.node("Add", pair if m.maybe() else pair[::-1])
            add(activation(m, y) if m.maybe(0.7) else y, f)
        elif kind == "activation":
            add(activation(m, x), c)
        elif kind == "pool":
            add(m.node(m.one_of("MaxPool", "AveragePool"), [x], kernel_shape=[3, 3], pads=[1] * 4), c)
        elif kind == "concat":
            other = m.one_of(*names)
            if c + channels[other] < 60:
                add(m.node("Concat", [x, other], axis=1), c + channels[other])
        elif kind == "add":
            other = m.one_of(*[n for n in names if channels[n] == c])
            y = m.node(m.one_of("Add", "Mul"), [x, other])
            y = m.node("Tanh", [y])  # keeps the numbers small
            add(y, c)
        elif kind == "idle":
            add(m.node(m.one_of("Identity", "Dropout"), [x]), c)
        elif kind == "norm":
            add(m.node("BatchNormalization", [x, *m.statistics(c)]), c)
        elif kind == "slice" and c > 2:
            add(m.node("Slice", [x, m.ints([1]), m.ints([c - 1]), m.ints([1])]), c - 2)
        elif kind == "pad":
            y = m.node("Pad", [x, m.ints([0, 0, 1, 1, 0, 0, 1, 1])])
            add(m.node("MaxPool", [y], kernel_shape=[3, 3]), c)
        elif kind == "scale":
            add(m.node("Mul", [x, m.node("Sigmoid", [m.node("GlobalAveragePool", [x])])]), c)
    if not m.nodes:
        add(activation(m, names[0]), channels[names[0]])
    m.output(names[-1])
    if len(names) > 2 and m.maybe(0.3):
        m.output(m.one_of(*names[1:]))
    if m.maybe(0.4):
        flat = m.node("Flatten", [m.node(m.one_of("GlobalAveragePool", "GlobalMaxPool"), [names[-1]])])
        m.output(m.node("Gemm", [flat, m.weights([channels[names[-1]], 10]), m.weights([10])]))


def gelu(m, x):
    root, one, half = (m.scalar(v) for v in (np.sqrt(2), 1, 0.5))
    erf = m.node("Erf", [m.node("Div", [x, root])])
    return m.node("Mul", [m.node("Mul", [x, m.node("Add", [erf, one])]), half])


def transformer(m):
    """Products with typical surrounding operators, on sequences."""
    length, width = m.pick(2, 9), m.one_of(8, 16, 24)
    names = [m.input([length, width])]

    def product(x, inner, outer):
        y = m.node("MatMul", [x, m.weights([inner, outer], -0.4, 0.4)])
        if m.maybe(0.7):
            dims = m.one_of([outer], [outer], [outer], [1, 1, outer], [1, 1, 1, outer])
            bias = m.weights(dims)
            y = m.node("Add", [y, bias] if m.maybe() else [bias, y])
            if len(dims) > 3:
                y = reshaped(m, y, [length, outer])
        return y

    for _ in range(m.pick(2, 6)):
        x = m.one_of(*names[-3:])
        kind = m.one_of("product", "residual", "residual", "mlp", "attention", "norm", "activation", "split", "broadcast")
        if kind == "product":
            names.append(product(x, width, width))
        elif kind == "residual":
            pair = [product(x, width, width), m.one_of(*names)]
            y = m.node("Add", pair if m.maybe() else pair[::-1])
            names.append(activation(m, y) if m.maybe(0.4) else y)
        elif kind == "mlp":
            h = product(x, width, 2 * width)
            h = gelu(m, h) if m.maybe() else activation(m, h)
            names.append(m.node("Add", [x, product(h, 2 * width, width)]))
        elif kind == "attention":
            def heads(y):
                y = m.node("Reshape", [y, m.ints([0, 0, 4, width // 4])])
                return m.node("Transpose", [y], perm=[0, 2, 1, 3])
            q, k, v = (heads(product(x, width, width)) for _ in range(3))
            s = m.node("MatMul", [q, m.node("Transpose", [k], perm=[0, 1, 3, 2])])
            s = m.node("Softmax", [s], axis=3)
            y = m.node("Transpose", [m.node("MatMul", [s, v])], perm=[0, 2, 1, 3])
            names.append(m.node("Reshape", [y, m.ints([0, 0, width])]))
        elif kind == "norm" and m.opset == 17:
            names.append(m.node("LayerNormalization", [x, m.weights([width]), m.weights([width])]))
        elif kind == "activation":
            names.append(gelu(m, x) if m.maybe(0.3) else activation(m, x))
        elif kind == "split":
            halves = m.node("Split", [x], 2, axis=2)
            names.append(m.node("Concat", list(reversed(halves)), axis=2))
        elif kind == "broadcast":  # shapes that the graph computes
            dims = m.node("Shape", [x])
            ones = m.node("ConstantOfShape", [dims], value=numpy_helper.from_array(np.float32([0.5])))
            if m.maybe():  # as in exporters, which write an expand with -1 for "unchanged"
                wanted = m.ints([-1, -1, width])
                kept = m.node("Equal", [wanted, m.node("Mul", [m.node("ConstantOfShape", [m.ints([3])], value=
                              numpy_helper.from_array(np.int64([1]))), m.constant(np.int64(-1))])])
                dims = m.node("Where", [kept, dims, wanted])
            row = m.node("Expand", [m.weights([1, 1, width]), dims])
            names.append(m.node("Add", [m.node("Mul", [x, ones]), row]))
    if not m.nodes:
        names.append(activation(m, names[0]))
    m.output(names[-1])
    if len(names) > 2 and m.maybe(0.3):
        m.output(m.one_of(*names[1:]))
    if m.maybe(0.4):
        pooled = m.node("ReduceMean", [names[-1]], axes=[1], keepdims=0)
        y = m.node("Gemm", [pooled, m.weights([width, 5]), m.weights([5])])
        if m.maybe():  # two dimensions, with constants for three
            y = reshaped(m, gelu(m, y), [5])
        m.output(y)


NETWORKS = {"network": network, "transformer": transformer}
