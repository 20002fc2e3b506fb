"""What is checked on a GPU, in order of worth."""
import dataclasses
import fnmatch

SECTIONS = {
    "kernels": "the kernels that everything stands on",
    "decoder": "language models: golden logits and sequences",
    "tensors": "tensor models: golden outputs, random ONNX models",
    "cluster": "a cluster of two processes on the GPU, over HTTP",
    "speed": "kernels and steps beside targets and limits",
    "gap": "the time that a GPU waits between two steps",
    "sanitizer": "compute-sanitizer on small shapes",
    "parallel": "one model on two GPUs",
    "shares": "shares of the multiprocessors, alone and beside others",
}
MAX_SECTION_S = 9 * 60  # what a section's limits may add up to

NO_SPEED = "an emulator has no speed"
NO_SANITIZER = "the emulated machine has no compute-sanitizer; the preset asan checks its reads"


@dataclasses.dataclass(frozen=True)
class Check:
    """One process. `{NAME}` in a command is a program or a file of the bundle (bundle.py, FILES)."""
    section: str
    name: str
    command: tuple
    limit_s: int
    needs: tuple = ()     # facts of the machine (machine.py)
    dry: tuple = ()       # the command against the emulated machine
    dry_left_out: str = ""  # or why there is none
    figures: bool = False   # it prints rows of JSON: {op, shape, us, ...}


def doctest(program, *cases, without=()):
    words = ("{" + program + "}", "--no-version", "--no-colors", "--test-case=" + ",".join(cases))
    return words + (("--test-case-exclude=" + ",".join(without),) if without else ())


def kernels(name, *cases, limit_s=60, needs=("gpu",), without=()):
    return Check("kernels", name, doctest("gpu_tests", *cases, without=without), limit_s, needs,
                 dry=doctest("cuda_emulator_tests", *cases, without=without))


def sanitizer(tool, *cases):
    return Check("sanitizer", f"{tool}: {', '.join(cases)}",
                 ("{compute-sanitizer}", "--tool", tool, "--error-exitcode", "9", *doctest("gpu_tests", *cases)), 90,
                 ("gpu", "compute-sanitizer"), dry_left_out=NO_SANITIZER)


def speed(name, filter_, limit_s=40):
    return Check("speed", name, ("{gpu_bench}", "--json", "--filter", filter_), limit_s, ("gpu", "hopper", "cublas", "cublaslt"), dry_left_out=NO_SPEED, figures=True)


FIRST = ("wgmma:*", "warpgroup prefill*", "lora kernel*", "sampling kernel*", "paged decode*", "paged prefill*")
LIBRARIES = ("random products*", "random convolutions*", "convolutions of*", "an unprepared*", "all_reduce*", "broadcast *",
             "gather copies*", "a failed rank*", "products *")

CHECKS = (
    kernels("warpgroup product", "wgmma:*", needs=("gpu", "hopper")),
    kernels("LoRA", "lora kernel*"),
    kernels("sampling", "sampling kernel*"),
    kernels("decode attention", "paged decode*"),
    kernels("prefill attention of warpgroups", "warpgroup prefill*", needs=("gpu", "hopper")),
    kernels("prefill attention of warps", "paged prefill*"),
    kernels("others", "*", without=FIRST + LIBRARIES),
    Check("kernels", "products by cuBLASLt", doctest("gpu_tests", "random products*"), 60, ("gpu", "cublaslt"),
          dry=doctest("cuda_emulator_tests", "products *")),

    Check("decoder", "golden logits, bf16", doctest("cuda_device_tests", "cuda decoder: golden logits*bf16"), 60,
          ("gpu", "cublaslt"), dry=doctest("cuda_llm_tests", "cuda decoder: golden logits*bf16")),
    Check("decoder", "golden logits, f16", doctest("cuda_device_tests", "cuda decoder: golden logits*f16",
                                                   without=("*bf16",)), 60,
          ("gpu", "cublaslt"), dry=doctest("cuda_llm_tests", "cuda decoder: golden logits*f16", without=("*bf16",))),
    Check("decoder", "golden sequences of an engine", doctest("cuda_device_tests", "cuda engine:*", without=("*two GPUs*",)),
          120, ("gpu", "cublaslt"), dry=doctest("cuda_llm_tests", "cuda decoder: golden sequences*")),
    Check("decoder", "steps, adapters, memory", doctest("cuda_device_tests", "cuda decoder:*",
                                                        without=("*golden*",)), 120, ("gpu", "cublaslt"),
          dry=doctest("cuda_llm_tests", "cuda decoder:*", without=("*golden*",))),

    Check("tensors", "convolutions by cuDNN",
          doctest("gpu_tests", "random convolutions*", "convolutions of*", "an unprepared*"), 120,
          ("gpu", "cudnn"), dry_left_out="cuDNN needs a GPU"),
    Check("tensors", "golden outputs", doctest("cuda_tensor_device_tests", "cuda device:*"), 120,
          ("gpu", "cublaslt", "cudnn"), dry=doctest("cuda_onnx_tests", "cuda tensor model: golden*")),
    Check("tensors", "random ONNX models", ("{python}", "{recorded_models}", "{gpu_model_runner}", "{random_models}",
                                            "--seconds", "140"), 160, ("gpu", "cublaslt", "cudnn"),
          dry=("{python}", "{recorded_models}", "{cuda_model_runner}", "{random_models}", "--seconds", "60")),

    Check("cluster", "tenants and tensor models", ("{python}", "{device_cluster}", "{troupe}", "cuda"), 180,
          ("gpu", "cublaslt", "cudnn"), dry=("{python}", "{device_cluster}", "{troupe}", "cpu")),

    speed("limits of the device", "limit"),
    speed("LoRA", "lora"),
    speed("attention", "attention"),
    speed("a decode step with and without adapters", "decode step", limit_s=80),
    speed("sampling", "sampling"),
    speed("elementwise", "pointwise"),
    speed("copies", "copy"),
    speed("layer norm", "layer norm"),
    speed("softmax", "softmax"),
    speed("pooling", "pool"),
    speed("convolutions", "conv"),

    Check("gap", "steps of 32 rows", ("{gpu_gap_bench}", "--json"), 90, ("gpu", "hopper", "cublaslt"),
          dry_left_out=NO_SPEED, figures=True),
    Check("gap", "steps of one row", ("{gpu_gap_bench}", "--json", "--rows", "1"), 90, ("gpu", "hopper", "cublaslt"),
          dry_left_out=NO_SPEED, figures=True),

    sanitizer("memcheck", "lora kernel: one row", "sampling kernel: top_k*", "paged decode kernel: a window"),
    sanitizer("memcheck", "warpgroup prefill kernel: a window", "wgmma: the second*"),
    sanitizer("synccheck", "lora kernel: one row", "sampling kernel: top_k*", "wgmma: the second*"),
    sanitizer("racecheck", "lora kernel: one row", "paged decode kernel: a window"),

    Check("parallel", "collectives of NCCL", doctest("gpu_tests", "all_reduce*", "broadcast copies*", "gather copies*",
                                                     "a failed rank*"), 120, ("two gpus", "nccl"),
          dry_left_out="NCCL needs GPUs; device_group_tests checks the calls"),
    Check("parallel", "golden sequences on two GPUs", doctest("cuda_device_tests", "cuda engine:*two GPUs*"), 180,
          ("two gpus", "nccl", "cublaslt"), dry=doctest("cuda_llm_tests", "parallel model: golden*")),

    Check("shares", "green contexts and co-runs", ("{gpu_share_bench}", "--json"), 120, ("gpu", "cublaslt"),
          dry_left_out=NO_SPEED, figures=True),
)


def holders(program, test):
    """The checks that run this test case of the program; compute-sanitizer repeats some."""
    def patterns(check, option):
        return [p for word in check.command if word.startswith(option) for p in word[len(option):].split(",")]

    def selects(check):
        return ("{" + program + "}" in check.command and check.section != "sanitizer"
                and any(fnmatch.fnmatchcase(test, p) for p in patterns(check, "--test-case="))
                and not any(fnmatch.fnmatchcase(test, p) for p in patterns(check, "--test-case-exclude=")))
    return [check for check in CHECKS if selects(check)]


def from_document(entries):
    """Checks of a JSON document, a list of objects with the fields of `Check`. `section` may be a new one."""
    lists = ("command", "needs", "dry")
    return tuple(Check(**{name: tuple(value) if name in lists else value for name, value in e.items()}) for e in entries)
