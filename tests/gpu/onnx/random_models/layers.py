"""Convolutions, pools, products and normalisations."""
import numpy as np

from .model import number


def window(m, rank, dilated=True, pool=False):
    """Attributes of a convolution or pool and a spatial size that fits them."""
    kernel = [m.pick(1, 4) for _ in range(rank)]
    strides = [m.pick(1, 3) for _ in range(rank)]
    dilations = [m.pick(1, 2) if dilated and m.maybe(0.4) else 1 for _ in range(rank)]
    a = {"kernel_shape": kernel}
    if m.maybe(0.8):
        a["strides"] = strides
    if any(d > 1 for d in dilations):
        a["dilations"] = dilations
    mode = m.one_of("NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    if mode.startswith("SAME") and (max(dilations) > 1 or pool and any(k < s for k, s in zip(kernel, strides))):
        mode = "VALID"  # onnxruntime ignores the dilation in pools, and refuses the others
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
    channels, features, groups = grouping(m)
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    if a.get("auto_pad", "").startswith("SAME") and any(
            (k - 1) * d + 1 < s for k, d, s in zip(a["kernel_shape"], dilations, strides)):
        del a["auto_pad"]  # would need negative padding
    if m.maybe(0.3) and any(s > 1 for s in strides):
        a["output_padding"] = [m.pick(0, s - 1) for s in strides]
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(size, strides, a["kernel_shape"], dilations)]
    if m.maybe(0.2):
        a.pop("pads", None)
        full = [f + extra for f, extra in zip(full, a.get("output_padding", [0] * rank))]
        a["output_shape"] = [f - m.pick(0, min(2, f - 1)) for f in full]
    inputs = [m.input([channels, *size]), m.weights([channels, features // groups, *a["kernel_shape"]])]
    if m.maybe():
        inputs.append(m.weights([features]))
    m.output(m.node("ConvTranspose", inputs, group=groups if groups > 1 else None, **a))


def max_pool(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank, pool=True)
    if m.maybe(0.4):
        a["ceil_mode"] = 1
    m.output(m.node("MaxPool", [m.input([m.one_of(1, 3, 16), *size])], **a))


def average_pool(m):
    rank = m.one_of(1, 2, 2, 2, 3)
    a, size = window(m, rank, dilated=False, pool=True)
    if m.maybe(0.4):
        a["ceil_mode"] = 1
    if m.maybe():
        a["count_include_pad"] = 1
    m.output(m.node("AveragePool", [m.input([m.one_of(1, 3, 16), *size])], **a))


def global_pool(op):
    return lambda m: m.output(m.node(op, [m.input([m.one_of(1, 3, 16), *m.dims(1, 3)])]))


def matmul(m):
    inner = m.one_of(1, 3, 8, 17, 33)
    rank = m.pick(0, 2)
    if m.maybe(0.2):  # from the left
        x = m.input([*m.dims(0, 1), inner, m.pick(1, 5)])
        return m.output(m.node("MatMul", [m.weights(m.one_of([inner], [3, inner], [1, 3, inner])), x]))
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
    if m.maybe(0.2):
        inputs[0] = m.node("Transpose", [inputs[0]])
        a["transA"] = 1
    m.output(m.node("Gemm", inputs, **a))


def batch_normalization(m):
    channels = m.one_of(1, 3, 16, 21)
    x = m.input([channels, *m.dims(0, 3)])
    m.output(m.node("BatchNormalization", [x, *m.statistics(channels)], epsilon=number(1e-5, 1e-2)(m)))


def layer_normalization(m):
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
    if m.maybe(0.2):  # over everything, the batch included
        x = m.input(dims)
        return m.output(m.node("Sub", [x, m.node("ReduceMean", [x], keepdims=m.one_of(0, 1, None))]))
    axes = [int(a) for a in m.rng.permutation(np.arange(1, len(dims) + 1))[:m.pick(1, len(dims))]]
    axes = [a - len(dims) - 1 if m.maybe(0.3) else a for a in axes]
    m.output(m.node("ReduceMean", [m.input(dims)], axes=axes, keepdims=m.one_of(0, 1, None)))


LAYERS = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("GlobalAveragePool"), "GlobalMaxPool": global_pool("GlobalMaxPool"),
    "MatMul": matmul, "Gemm": gemm, "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization, "Softmax": softmax, "ReduceMean": reduce_mean,
}
