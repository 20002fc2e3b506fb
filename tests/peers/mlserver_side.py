"""MLServer with a custom runtime and adaptive batching. Inference runs in the server's process, which takes less CPU
time here than the default, a pool with one process."""
import json
import sys

from mlserver import MLModel, cli
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse
from onnx_model import FOLDER, MAX_BATCH, MODELS, OTHER_PORTS, PORT, WAIT_MS, OnnxModel


class OnnxRuntime(MLModel):
    async def load(self):
        self.model = OnnxModel(self.name)
        return True

    async def predict(self, payload):
        rows = self.model(NumpyCodec.decode_input(payload.inputs[0]))
        output = NumpyCodec.encode_output(self.model.output.name, rows)
        return InferenceResponse(model_name=self.name, outputs=[output])


def write_settings():
    server = {"debug": False, "host": "127.0.0.1", "http_port": PORT, "grpc_port": OTHER_PORTS[0],
              "metrics_port": OTHER_PORTS[1], "parallel_workers": 0}
    (FOLDER / "settings.json").write_text(json.dumps(server))
    for name in MODELS:
        model = {"name": name, "implementation": "mlserver_side.OnnxRuntime", "max_batch_size": MAX_BATCH,
                 "max_batch_time": WAIT_MS / 1000}
        (FOLDER / name).mkdir()
        (FOLDER / name / "model-settings.json").write_text(json.dumps(model))


if __name__ == "__main__":
    write_settings()
    sys.argv[1:] = ["start", str(FOLDER)]
    cli.main()
