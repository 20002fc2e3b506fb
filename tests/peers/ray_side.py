"""Ray Serve: a deployment with one replica that has all models and a batcher for each, behind HAProxy, as its page
about high throughput recommends (measure.py sets the environment variables)."""
import signal

import numpy
import ray
from onnx_model import FOLDER, MAX_BATCH, MODELS, PORT, WAIT_MS, OnnxModel
from ray import serve


def batcher(model):
    @serve.batch(max_batch_size=MAX_BATCH, batch_wait_timeout_s=WAIT_MS / 1000)
    async def run(requests):
        return list(model(numpy.concatenate(requests)))  # of one row each
    return run


@serve.deployment(num_replicas=1, max_ongoing_requests=1000, logging_config={"enable_access_log": False})
class Models:
    def __init__(self):
        self.models = {name: OnnxModel(name) for name in MODELS}
        self.batchers = {name: batcher(model) for name, model in self.models.items()}

    async def __call__(self, request):
        name = request.url.path.strip("/")
        row = await self.batchers[name](self.models[name].rows((await request.json())["rows"]))
        return {"rows": [row.tolist()]}


if __name__ == "__main__":
    ray.init(include_dashboard=False, log_to_driver=False, _temp_dir=str(FOLDER))
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(Models.bind())
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    serve.shutdown()
    ray.shutdown()
