"""LitServe: one API, and so one worker process, for each model."""
import litserve
import numpy
from onnx_model import MAX_BATCH, MODELS, PORT, WAIT_MS, OnnxModel


class OnnxAPI(litserve.LitAPI):
    def __init__(self, name):
        super().__init__(max_batch_size=MAX_BATCH, batch_timeout=WAIT_MS / 1000, api_path=f"/{name}")
        self.name = name

    def setup(self, device):
        self.model = OnnxModel(self.name)

    def decode_request(self, request):
        return self.model.rows(request["rows"])

    def batch(self, inputs):
        return numpy.concatenate(inputs)  # of one row each

    def predict(self, rows):
        return self.model(rows)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, row):
        return {"rows": [row.tolist()]}


if __name__ == "__main__":
    apis = [OnnxAPI(name) for name in MODELS]
    server = litserve.LitServer(apis, accelerator="cpu", workers_per_device=1, fast_queue=True)
    server.run(host="127.0.0.1", port=PORT, log_level="warning", generate_client_file=False)
