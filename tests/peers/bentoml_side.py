"""BentoML: a service with one worker process and an API for each model.

The batcher learns how long to wait. `max_latency_ms` bounds the wait, but also fails requests that waited longer; it is
the SLO of `troupe serve`. With 100 some requests fail.
"""
import bentoml
import numpy
from bentoml.validators import DType
from onnx_model import MAX_BATCH, OnnxModel
from typing_extensions import Annotated

BATCHED = {"batchable": True, "batch_dim": 0, "max_batch_size": MAX_BATCH, "max_latency_ms": 1000}
Floats = Annotated[numpy.ndarray, DType("float32")]
Integers = Annotated[numpy.ndarray, DType("int64")]


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Models:
    def __init__(self):
        self.models = {name: OnnxModel(name) for name in ("mlp", "resnet_a", "encoder")}

    @bentoml.api(**BATCHED)
    def mlp(self, rows: Floats) -> Floats:
        return self.models["mlp"](rows)

    @bentoml.api(**BATCHED)
    def resnet_a(self, rows: Floats) -> Floats:
        return self.models["resnet_a"](rows)

    @bentoml.api(**BATCHED)
    def encoder(self, rows: Integers) -> Floats:
        return self.models["encoder"](rows)
