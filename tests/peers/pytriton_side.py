"""PyTriton: NVIDIA's Triton server, with the models as Python callables."""
import numpy
from onnx_model import FOLDER, MAX_BATCH, MODELS, OTHER_PORTS, PORT, WAIT_MS, OnnxModel
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig


def bind(triton, name):
    model = OnnxModel(name)

    @batch
    def infer(**inputs):
        return {model.output.name: model(inputs[model.input.name])}
    triton.bind(model_name=name, infer_func=infer,
                inputs=[Tensor(name=model.input.name, dtype=model.dtype, shape=model.input.shape[1:])],
                outputs=[Tensor(name=model.output.name, dtype=numpy.float32, shape=model.output.shape[1:])],
                config=ModelConfig(max_batch_size=MAX_BATCH,
                                   batcher=DynamicBatcher(max_queue_delay_microseconds=int(1000 * WAIT_MS))))


def main():
    config = TritonConfig(http_address="127.0.0.1", http_port=PORT, grpc_port=OTHER_PORTS[0],
                          metrics_port=OTHER_PORTS[1])
    with Triton(config=config, workspace=FOLDER / "workspace") as triton:
        for name in MODELS:
            bind(triton, name)
        triton.serve()


if __name__ == "__main__":
    main()
