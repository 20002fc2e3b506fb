"""Random ONNX models: one operator each with random attributes, or small networks.

Every function in OPERATORS and NETWORKS takes a `Model` to fill; what it draws depends on nothing but the model's
random generator and its opset. `opsets_of` says which opsets have an operator."""
from .elementwise import ELEMENTWISE
from .layers import LAYERS
from .model import NEWEST_OPSET, OLDEST_OPSET, Model
from .networks import NETWORKS
from .shapes import SHAPES

OPERATORS = {**ELEMENTWISE, **LAYERS, **SHAPES}
SINCE = {"GreaterOrEqual": 12, "LessOrEqual": 12, "HardSwish": 14, "LayerNormalization": 17}


def opsets_of(name):
    return range(SINCE.get(name, OLDEST_OPSET), NEWEST_OPSET + 1)


__all__ = ["Model", "NETWORKS", "OPERATORS", "opsets_of"]
