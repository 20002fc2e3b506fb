"""A random model under construction, and helpers to draw one."""
import numpy as np
from onnx import helper, numpy_helper

FLOAT, DOUBLE, HALF, INT64, INT32, BOOL = np.float32, np.float64, np.float16, np.int64, np.int32, np.bool_
TYPES = (BOOL, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, INT32, INT64, HALF, FLOAT, DOUBLE)
OLDEST_OPSET, NEWEST_OPSET = 11, 17


def number(low, high):
    """Draws an attribute, or leaves it out."""
    return lambda m: float(m.rng.uniform(low, high)) if m.maybe(0.8) else None


class Model:
    """A graph under construction. Inputs have a batch dimension in front; its size is `rows`."""

    def __init__(self, rng, opset):
        self.rng, self.opset = rng, opset
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
        if np.issubdtype(dtype, np.integer):
            lowest = max(int(low), np.iinfo(dtype).min)
            return self.rng.integers(lowest, int(high) + 1, dims).astype(dtype)
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

    def scalar(self, value):
        """With a random number of dimensions; one of them may extend the tensor that it is added to."""
        return self.constant(np.full(self.one_of([], [], [1], [1, 1], [1, 1, 1]), value, FLOAT))

    def ints(self, values):
        return self.constant(values, INT64)

    def weights(self, dims, low=-1.0, high=1.0):
        return self.constant(self.numbers(dims, FLOAT, low, high))

    def statistics(self, channels):
        """Scale, offset, mean and variance of a batch normalisation."""
        return [self.weights([channels]), self.weights([channels]), self.weights([channels]),
                self.weights([channels], 0.3, 2)]

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
