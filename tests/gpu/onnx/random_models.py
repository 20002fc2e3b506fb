"""Random ONNX models: one operator each with random attributes, or small graphs as networks have them.

Every function in OPERATORS and GRAPHS takes a `Model` to fill; what it draws depends on nothing but the model's
random generator."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL = np.float32, np.int64, np.int32, np.bool_


class Model:
    """A graph in the making. Inputs have a batch dimension in front; its size is `rows`."""

    def __init__(self, rng, opset=None):
        self.rng = rng
        self.opset = opset or int(rng.integers(11, 18))
        self.rows = int(rng.choice([1, 2, 3, 5, 8]))
        self.nodes, self.inputs, self.constants, self.outputs, self.values = [], [], [], [], {}

    # random choices
    def pick(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def one_of(self, *choices):
        return choices[self.pick(0, len(choices) - 1)]

    def dims(self, low, high, largest=6):
        return [self.pick(1, largest) for _ in range(self.pick(low, high))]

    def numbers(self, dims, dtype=FLOAT, low=-2.0, high=2.0):
        if dtype == BOOL:
            return self.rng.random(dims) < 0.5
        if dtype in (INT64, INT32):
            return self.rng.integers(int(low), int(high) + 1, dims).astype(dtype)
        return self.rng.uniform(low, high, dims).astype(dtype)

    # parts
    def input(self, dims, dtype=FLOAT, low=-2.0, high=2.0):
        """`dims` without the batch."""
        name = f"x{len(self.inputs)}"
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, element, ["batch", *dims]))
        self.values[name] = self.numbers([self.rows, *dims], dtype, low, high)
        return name

    def constant(self, value, dtype=None):
        name = f"c{len(self.constants)}"
        value = np.asarray(value, dtype=dtype)
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def ints(self, values):
        return self.constant(values, INT64)

    def weights(self, dims, low=-1.0, high=1.0):
        return self.constant(self.numbers(dims, FLOAT, low, high))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, names, name=f"node{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def output(self, *names):
        self.outputs.extend(n for n in names if n not in self.outputs)

    def proto(self):
        outputs = [helper.make_empty_tensor_value_info(n) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "random", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=7)


# Elementwise

def unary(op, low=-4.0, high=4.0, **attributes):
    def make(m):
        drawn = {k: f(m) for k, f in attributes.items()}
        m.output(m.node(op, [m.input(m.dims(0, 3), low=low, high=high)], **drawn))
    return make


def number(low, high):
    return lambda m: float(m.rng.uniform(low, high)) if m.maybe(0.8) else None


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


# Windows

def window(m, rank, dilated=True):
    """Attributes of a convolution or pool and a spatial size that they fit."""
    kernel = [m.pick(1, 4) for _ in range(rank)]
    strides = [m.pick(1, 3) for _ in range(rank)]
    dilations = [m.pick(1, 2) if dilated and m.maybe(0.4) else 1 for _ in range(rank)]
    a = {"kernel_shape": kernel}
    if m.maybe(0.8):
        a["strides"] = strides
    if any(d > 1 for d in dilations):
        a["dilations"] = dilations
    mode = m.one_of("NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    if mode.startswith("SAME") and (max(dilations) > 1 or any(k < s for k, s in zip(kernel, strides))):
        mode = "VALID"  # onnxruntime refuses it or has a reading of its own
    if mode != "NOTSET":
        a["auto_pad"] = mode
    elif m.maybe(0.8):
        a["pads"] = [m.pick(0, k - 1) for k in kernel] + [m.pick(0, k - 1) for k in kernel]
    largest = {1: 20, 2: 11, 3: 8}[rank]
    return a, [m.pick((k - 1) * d + 1, largest) for k, d in zip(kernel, dilations)]


def grouping(m):
    """Channels in, channels out, groups: often one group, often depthwise."""
    kind = m.one_of("one", "one", "some", "depthwise")
    if kind == "one":
        return m.one_of(1, 3, 5, 16, 17, 32), m.one_of(1, 4, 7, 16, 24, 33), 1
    if kind == "some":
        groups = m.pick(2, 4)
        return groups * m.pick(1, 8), groups * m.pick(1, 8), groups
    channels = m.one_of(2, 8, 16, 19, 32)
    return channels, channels * m.one_of(1, 1, 1, 2), channels


def conv(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank)
    channels, features, groups = grouping(m)
    inputs = [m.input([channels, *size]), m.weights([features, channels // groups, *a["kernel_shape"]])]
    if m.maybe():
        inputs.append(m.weights([features]))
    if m.maybe(0.3):
        del a["kernel_shape"]
    m.output(m.node("Conv", inputs, group=groups if groups > 1 or m.maybe(0.3) else None, **a))


def conv_transpose(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank)
    size = [min(s, 7) for s in size]
    a.pop("output_padding", None)
    channels, features, groups = grouping(m)
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    if a.get("auto_pad", "").startswith("SAME") and any(
            (k - 1) * d + 1 < s for k, d, s in zip(a["kernel_shape"], dilations, strides)):
        del a["auto_pad"]  # would need negative padding
    if m.maybe(0.3) and any(s > 1 for s in strides):
        a["output_padding"] = [m.pick(0, s - 1) for s in strides]
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(size, strides, a["kernel_shape"], dilations)]
    if "auto_pad" not in a and m.maybe(0.2):
        a.pop("pads", None)
        a["output_shape"] = [f - m.pick(0, min(2, f - 1)) for f in full]
        a.pop("output_padding", None)
    inputs = [m.input([channels, *size]), m.weights([channels, features // groups, *a["kernel_shape"]])]
    if m.maybe():
        inputs.append(m.weights([features]))
    m.output(m.node("ConvTranspose", inputs, group=groups if groups > 1 else None, **a))


def max_pool(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank)
    if m.maybe(0.4) and "auto_pad" not in a:
        a["ceil_mode"] = 1
    m.output(m.node("MaxPool", [m.input([m.one_of(1, 3, 16), *size])], **a))


def average_pool(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank, dilated=False)
    if m.maybe(0.4) and "auto_pad" not in a:
        a["ceil_mode"] = 1
    if m.maybe():
        a["count_include_pad"] = 1
    m.output(m.node("AveragePool", [m.input([m.one_of(1, 3, 16), *size])], **a))


def global_pool(op):
    return lambda m: m.output(m.node(op, [m.input([m.one_of(1, 3, 16), *m.dims(1, 3)])]))


# Products and normalisations

def matmul(m):
    inner = m.one_of(1, 3, 8, 17, 33)
    rank = m.pick(0, 2)
    left = [*[m.pick(1, 4) for _ in range(rank)], inner]
    x = m.input(left)
    columns = m.one_of(1, 5, 16, 30)
    if m.maybe(0.6):
        w = m.weights([inner, columns] if m.maybe(0.8) else [inner])
    else:
        batch = [1, *left[:-2]] if rank > 0 else []
        w = m.weights([*batch[len(batch) - m.pick(0, len(batch)):], inner, columns]) if m.maybe(0.4) or rank < 1 \
            else m.input([*left[:-2], inner, columns])
    m.output(m.node("MatMul", [x, w]))


def gemm(m):
    inner, columns = m.one_of(1, 3, 8, 17, 33), m.one_of(1, 5, 16, 30)
    turned = int(m.maybe())
    a = {"transB": turned} if turned or m.maybe(0.3) else {}
    for name in ("alpha", "beta"):
        if m.maybe(0.3):
            a[name] = float(m.rng.uniform(0.3, 2))
    inputs = [m.input([inner]), m.weights([columns, inner] if turned else [inner, columns])]
    if m.maybe(0.7):
        inputs.append(m.weights(m.one_of([columns], [1, columns], [1], [], [1, 1])))
    m.output(m.node("Gemm", inputs, **a))


def statistics(m, channels):
    return [m.weights([channels]), m.weights([channels]), m.weights([channels]), m.weights([channels], 0.3, 2)]


def batch_normalization(m):
    channels = m.one_of(1, 3, 16, 21)
    x = m.input([channels, *m.dims(0, 3)])
    m.output(m.node("BatchNormalization", [x, *statistics(m, channels)], epsilon=number(1e-5, 1e-2)(m)))


def layer_normalization(m):
    m.opset = 17
    dims = m.dims(1, 3, 20)
    axis = m.pick(1, len(dims))
    over = dims[axis - 1:]
    inputs = [m.input(dims), m.weights(over)] + ([m.weights(over)] if m.maybe() else [])
    m.output(m.node("LayerNormalization", inputs, axis=m.one_of(axis, axis - len(dims) - 1),
                    epsilon=number(1e-5, 1e-2)(m)))


def softmax(m):
    dims = m.dims(1, 3, 9)
    axis = m.pick(1, len(dims))
    m.output(m.node("Softmax", [m.input(dims)], axis=m.one_of(axis, axis - len(dims) - 1, None)))


def reduce_mean(m):
    dims = m.dims(1, 4)
    axes = [int(a) for a in m.rng.permutation(np.arange(1, len(dims) + 1))[:m.pick(1, len(dims))]]
    axes = [a - len(dims) - 1 if m.maybe(0.3) else a for a in axes]
    m.output(m.node("ReduceMean", [m.input(dims)], axes=axes, keepdims=m.one_of(0, 1, None)))


# Shapes and pieces

def some_type(m):
    return m.one_of(FLOAT, FLOAT, INT64, INT32, BOOL)


def axes_of(m, op, x, axes):
    if m.opset < 13:
        return m.node(op, [x], axes=axes)
    return m.node(op, [x, m.ints(axes)])


def squeeze(m):
    dims = m.dims(1, 3)
    dims.insert(m.pick(0, len(dims)), 1)
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
        return m.output(m.node("Gather", [table, m.input(m.dims(0, 2), INT64, 0, 6)]))
    indices = m.constant(m.numbers(m.dims(0, 2), m.one_of(INT64, INT32), -d, d - 1))
    return m.output(m.node("Gather", [m.input(dims, some_type(m)), indices], axis=m.one_of(axis, axis - len(dims) - 1)))


def slice_(m):
    dims = m.dims(1, 4)
    axes = [int(a) for a in 1 + m.rng.permutation(len(dims))[:m.pick(1, len(dims))]]
    starts, ends, steps = [], [], []
    for a in axes:
        d = dims[a - 1]
        first, last = sorted((m.pick(0, d - 1), m.pick(0, d - 1)))
        step = m.pick(1, 3)
        end = m.one_of(last + 1, last + 1, last + 1 - d if last + 1 < d else 2**63 - 1)
        if m.maybe(0.4):  # backwards
            first, end, step = last, m.one_of(first - 1 if first > 0 else -2**63, -2**63), -step
            end = end if end < 0 or m.maybe() else end - d
        starts.append(first - d if m.maybe(0.3) else first)
        ends.append(end)
        steps.append(step)
    axes = [a - len(dims) - 1 if m.maybe(0.3) else a for a in axes]
    m.output(m.node("Slice", [m.input(dims, some_type(m)), *map(m.ints, (starts, ends, axes, steps))]))


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
    dtype = m.one_of(FLOAT, FLOAT, INT64)
    most = [d - 1 if mode == "reflect" else 3 for d in dims]
    least = [0 if mode in ("edge", "reflect") else -((d - 1) // 2) for d in dims]
    side = lambda: [0, *(m.pick(low, high) for low, high in zip(least, most))]
    pads = side() + side()
    inputs = [m.input(dims, dtype), m.ints(pads)]
    if mode in ("constant", None) and m.maybe():
        inputs.append(m.constant(m.numbers([], dtype)))
    m.output(m.node("Pad", inputs, mode=mode))


def expand(m):
    dims = [d if m.maybe() else 1 for d in m.dims(1, 3)]
    wanted = [m.pick(1, 5) if d == 1 else m.one_of(1, d) for d in dims]
    m.output(m.node("Expand", [m.input(dims, some_type(m)), m.ints([1, *wanted])]))


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
        inputs.append(m.constant(np.float32(0.3)))
        if m.maybe():
            inputs.append(m.constant(np.bool_(False)))
    if m.maybe(0.3):
        return m.output(*m.node("Dropout", inputs, 2))
    return m.output(m.node("Dropout", inputs))


def identity(m):
    m.output(m.node("Identity", [m.input(m.dims(0, 3), some_type(m))]))


OPERATORS = {
    "Add": binary("Add"), "Sub": binary("Sub"), "Mul": binary("Mul"), "Div": binary("Div", 0.5, 2), "Pow": power,
    "Relu": unary("Relu"), "LeakyRelu": unary("LeakyRelu", alpha=number(0, 0.5)), "Sigmoid": unary("Sigmoid"),
    "HardSigmoid": unary("HardSigmoid", alpha=number(0.1, 0.5), beta=number(0.2, 0.7)), "HardSwish": hard_swish,
    "Tanh": unary("Tanh"), "Sqrt": unary("Sqrt", 0.1), "Exp": unary("Exp"), "Erf": unary("Erf"), "Clip": clip,
    **{op: compare(op) for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")}, "Not": not_,
    "Where": where, "Cast": cast, "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool,
    "AveragePool": average_pool, "GlobalAveragePool": global_pool("GlobalAveragePool"),
    "GlobalMaxPool": global_pool("GlobalMaxPool"), "MatMul": matmul, "Gemm": gemm,
    "BatchNormalization": batch_normalization, "LayerNormalization": layer_normalization, "Softmax": softmax,
    "ReduceMean": reduce_mean, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Flatten": flatten, "Reshape": reshape,
    "Transpose": transpose, "Concat": concat, "Gather": gather, "Slice": slice_, "Split": split, "Pad": pad,
    "Expand": expand, "ConstantOfShape": constant_of_shape, "Dropout": dropout, "Identity": identity,
}


# Graphs

def activation(m, x):
    op = m.one_of("Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "HardSigmoid",
                  "HardSwish" if m.opset >= 14 else "Relu")
    if op == "Clip":
        return m.node(op, [x, m.constant(np.float32(0)), m.constant(np.float32(1.5))])
    return m.node(op, [x])


def network(m):
    """Convolutions with what stands around them, on feature maps that branch, join and are used again."""
    size = m.pick(5, 9)
    maps = [(m.input([m.one_of(3, 8, 16)] + [size] * 2),)]
    channels = {maps[0][0]: int(m.values["x0"].shape[1])}
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
            y = m.node("BatchNormalization", [y, *statistics(m, f)])
        elif m.maybe(0.3):
            y = m.node(m.one_of("Mul", "Add"), [y, m.weights([f, 1, 1])])
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
            add(m.node("BatchNormalization", [x, *statistics(m, c)]), c)
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
    root, one, half = (m.constant(np.float32(v)) for v in (np.sqrt(2), 1, 0.5))
    erf = m.node("Erf", [m.node("Div", [x, root])])
    return m.node("Mul", [m.node("Mul", [x, m.node("Add", [erf, one])]), half])


def transformer(m):
    """Products with what stands around them, on sequences."""
    length, width = m.pick(2, 9), m.one_of(8, 16, 24)
    names = [m.input([length, width])]

    def product(x, inner, outer):
        y = m.node("MatMul", [x, m.weights([inner, outer], -0.4, 0.4)])
        if m.maybe(0.7):
            bias = m.weights([outer])
            y = m.node("Add", [y, bias] if m.maybe() else [bias, y])
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
            if m.maybe():  # as exporters write an expand with -1 for "as it is"
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
        m.output(m.node("Gemm", [pooled, m.weights([width, 5]), m.weights([5])]))


GRAPHS = {"network": network, "transformer": transformer}
