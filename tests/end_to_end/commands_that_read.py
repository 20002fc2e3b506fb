"""The files that each command reads: the kind of one that is broken, the arguments of the command, and the exit code if that
is 1, because the server refuses the file.

    {file}     the broken file, or the folder that it is in
    {parent}   the folder that has it and nothing else
    {naming}   a good cluster file that names it
    {running}  the file of a cluster that runs, which has a model `mlp` and one of images, `photo`; {url} its address
    {lines}    a good conversation
    {out}      where there is no file yet
    < {file}   it is the standard input
"""
from broken_files import CHECKPOINT, EXAMPLES
from fixtures import FIXTURES

CLUSTER = "cluster file"
ROWS, MODEL = FIXTURES / "mlp.in.bin", FIXTURES / "mlp.onnx"
EXPERIMENTS = f"--folder {EXAMPLES}/experiments"
REPLAY = "{file} {url} --model m --requests 2 --time-scale 0.001 --timeout 5"
SHORT = "--max-batch 1 --max-context 8 --seconds 0.01 --kv-mb 1"
OF_CHECKPOINTS = ("checkpoint", "sampling", "weights", "tokenizer")
OF_ADAPTERS = ("adapter", "weights of an adapter")
OF_ENCODERS = ("encoder", "weights of an encoder", "tokenizer of an encoder", "pooling")
TEMPLATES = ("chat template", "named chat templates")
OF_CERTIFICATES = ("CA", "certificate", "key of a certificate")
OF_RERANKERS = ("tokenizer of a reranker", "options of a tokenizer")


def each(kinds, arguments):
    return [(kind, arguments) for kind in kinds]


NAMED = ("tensor model", "transformer", "latency profile", "step profile", "key", "plug-in", *OF_CHECKPOINTS, *OF_ENCODERS,
         *OF_RERANKERS, *TEMPLATES, *OF_CERTIFICATES)  # adapters come and go: whoever asks for one is told
READS = {
    "check": [(CLUSTER, "{file}"), *each(NAMED, "{naming}")],
    "up": [(CLUSTER, "{file} --node nobody"), *each(("latency profile", "step profile", "key", "plug-in"), "{naming} --node nobody")],
    "config dump": [(CLUSTER, "{file}")],
    "status": [(CLUSTER, "{file}"), *((kind, "{naming}", 1) for kind in OF_CERTIFICATES)],
    "actors": [(CLUSTER, "{file}")],
    "ask": [(CLUSTER, "{file} gateway/0 get_state")],
    "tell": [(CLUSTER, "{file} gateway/0 get_state")],
    "top": [(CLUSTER, "{file} --once")],
    "trace": [(CLUSTER, "{file} --seconds 0.1 -o {out}")],
    "certs": [(CLUSTER, "{out} --cluster {file}"), *((kind, "{file} --node another", 1) for kind in ("CA", "key of a CA"))],
    "deploy": [(CLUSTER, f"{{file}} --name m --source {MODEL} --slo-ms 100"), ("definition", "{running} --file {file} --wait 20"),
               ("tensor model", "{running} --name m --source {file} --slo-ms 100 --max-batch 1 --wait 20", 1)],
    "undeploy": [(CLUSTER, "{file} mlp")],
    "drain": [(CLUSTER, "{file} worker")],
    "migrate": [(CLUSTER, "{file} mlp left")],
    "why": [(CLUSTER, "{file} 1")],
    "scale": [(CLUSTER, "{file} mlp --instances 1")],
    "parameters": [(CLUSTER, "{file}")],
    "load": [("rows", "{url} --model mlp --input {file} --rate 20 --duration 0.1"),
             ("image", "{url} --model photo --input {file} --rate 20 --duration 0.1", 1),
             ("key", "{url} --model mlp --key-file {file} --rate 20 --duration 0.1")],
    "chat": [("conversation", "{url} --model mlp < {file}"), ("key", "{url} --model mlp --key-file {file}"),
             *each(OF_CHECKPOINTS, "{file}"), *each(TEMPLATES, "{file} --max-tokens 2 < {lines}")],
    "serve": [("tensor model", "{file} --print-config"), ("transformer", "{parent} --print-config"),
              ("configuration of Triton", "{parent} --print-config"), *each(("encoder", "checkpoint"), "{file} --print-config")],
    "infer": [("tensor model", f"--model-file {{file}} --input {ROWS} --output {{out}}"),
              ("transformer", f"--model-file {{file}} --engine openvino --input {FIXTURES}/encoder.in.bin --output {{out}}"),
              ("rows", f"--model-file {MODEL} --input {{file}} --output {{out}}")],
    "embed": each((*OF_ENCODERS, *OF_RERANKERS), "--model {file} --text Hello"),
    "generate": [*each(OF_CHECKPOINTS, "--model {file} --prompt ab --max-tokens 2"),
                 *each(OF_ADAPTERS, f"--model {CHECKPOINT} --adapter {{file}} --prompt ab --max-tokens 2")],
    "profile": [("tensor model", "--model-file {file} --max-batch 1"),
                *each(("checkpoint", "weights"), f"--model {{file}} {SHORT}"),
                *each(OF_ADAPTERS, f"--model {CHECKPOINT} --adapter {{file}} {SHORT}")],
    "simulate": [("emulated cluster", f"{{file}} --workload {EXAMPLES}/emulated/workload.toml"),
                 ("workload", f"{EXAMPLES}/emulated/cluster.toml --workload {{file}}")],
    "replay": [*each(("Azure's trace", "BurstGPT's trace", "Mooncake's trace"), REPLAY),
               (CLUSTER, f"{EXAMPLES}/traces/azure.csv --simulate {{file}}"),
               ("key", f"{EXAMPLES}/traces/azure.csv {{url}} --model m --requests 1 --key-file {{file}}")],
    "goodput": [("scenario", "{file} --rate 10 --requests 100 --seeds 1 --jobs 1")],
    "experiment run": [("experiment", "{file} --quick --requests 100 --seeds 1 --no-plot --output {out}")],
    "experiment list": [("experiment", "--folder {parent}")],
    "experiment plot": [("experiment", "{file} --output {out}"), ("results", f"figure6a --output {{parent}} {EXPERIMENTS}")],
    "plan multicast": [("network", "{file}")],
    "bench infer": [("tensor model", "--models {parent} --python nothing")],
    "bench serve": [("tensor model", "--model-file {file} --rate 20 --duration 0.1 --slo-ms 100")],
    "bench load": each(("checkpoint", "weights"), "--model {file} --repetitions 1"),
    "bench partition": [("zoo", "--zoo {file} --models 4 --parts 2 --configurations 1 --steps 10 --random-tries 10")],
}
READ_NOTHING = {
    **dict.fromkeys(("config", "bench", "experiment", "plan"), "its subcommands do"),
    **dict.fromkeys(("bench fabric", "bench schedule", "bench simulate", "bench llm", "bench chain", "bench plan", "bench route"),
                    "measures what it makes itself"),
    "traffic": "writes what it draws from a seed",
}

NODE = """name = "n"
[[node]]
name = "n"
roles = ["gateway", "scheduler", "worker"]
control_port = 7701
http_port = 8080
"""
DEVICE = '[[node.device]]\nkind = "{}"\n'
ONE_MODEL = DEVICE.format("cpu") + f'[[model]]\nname = "m"\nsource = "{MODEL}"\nslo_ms = 1000\n'


def naming(kind, path):
    """A good cluster file that names the broken file, or the folder that it is in."""
    if kind in ("tensor model", "transformer"):
        return NODE + ONE_MODEL.replace(str(MODEL), str(path))
    if kind == "latency profile":
        return NODE + DEVICE.format("emulated") + f"""[[model]]
name = "DenseNet121"
profile = {{ file = "{path}" }}
input_bytes = 8
output_bytes = 8
"""
    if kind == "step profile":
        return NODE + f'[[llm]]\nname = "m"\nmodel = "{CHECKPOINT}"\ndevice = "emulated"\nprofile = "{path}"\n'
    if kind in OF_CHECKPOINTS + TEMPLATES:
        return NODE + f'[[llm]]\nname = "m"\nmodel = "{path}"\n'
    if kind in OF_ENCODERS + OF_RERANKERS:
        return NODE + DEVICE.format("cpu") + f'[[encoder]]\nname = "m"\nmodel = "{path}"\n'
    if kind in OF_CERTIFICATES:
        return NODE + ONE_MODEL + f'[security]\ncertificates = "{path}"\n'
    if kind == "key":
        return NODE + ONE_MODEL + f'[[tenant]]\nname = "t"\nkey_file = "{path}"\n'
    return NODE + ONE_MODEL + f'[plugins]\nlibraries = ["{path}"]\n'
