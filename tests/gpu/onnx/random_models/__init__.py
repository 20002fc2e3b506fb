"""Random ONNX models: one operator each with random attributes, or small networks.

Every function in OPERATORS and NETWORKS takes a `Model` to fill; what it draws depends on nothing but the model's
random generator."""
from .elementwise import ELEMENTWISE
from .layers import LAYERS
from .model import Model
from .networks import NETWORKS
from .shapes import SHAPES

OPERATORS = {**ELEMENTWISE, **LAYERS, **SHAPES}

__all__ = ["Model", "NETWORKS", "OPERATORS"]
