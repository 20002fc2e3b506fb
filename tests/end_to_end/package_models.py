"""Models that ship inside packages of other people (models.txt), with inputs that mean something, and what onnxruntime makes
of them.

Needs the Python of tests/requirements.txt.
"""
import functools
from pathlib import Path

import numpy as np
import onnxruntime

PACKAGES = next((Path(__file__).resolve().parents[2] / "build/models").glob("lib/python3*/site-packages"))
OCR, VAD = PACKAGES / "rapidocr_onnxruntime/models", PACKAGES / "silero_vad/data"
DETECTOR, READER = OCR / "ch_PP-OCRv4_det_infer.onnx", OCR / "ch_PP-OCRv4_rec_infer.onnx"
DIRECTION = OCR / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
MAGIKA = PACKAGES / "magika/models/standard_v3_3/model.onnx"
RATE = 16000

# Five columns of seven pixels, the lowest bit on top.
LETTERS = {"T": (1, 1, 127, 1, 1), "R": (127, 9, 25, 41, 70), "O": (62, 65, 65, 65, 62), "U": (63, 64, 64, 64, 63),
           "P": (127, 9, 9, 9, 6), "E": (127, 73, 73, 73, 65), " ": (0, 0, 0, 0, 0)}


def picture(text, height, width, scale):
    """White paper with black letters, [3, height, width] from -1 to 1."""
    paper = np.ones((height, width), np.float32)
    x, y = 2 * scale, (height - 7 * scale) // 2
    for letter in text:
        for column in LETTERS[letter]:
            for row in range(7):
                if column >> row & 1:
                    paper[y + row * scale:y + (row + 1) * scale, x:x + scale] = -1
            x += scale
        x += scale
    return np.repeat(paper[None], 3, axis=0)


def pictures(height, width):
    """Inputs of a model of pictures: another text in each row."""
    text = lambda n: ("TROUPE"[n % 6:] + "PORTER"[:n % 5] + " TO")[:width // 40]
    return lambda rows, seed: {"x": np.stack([picture(text(seed + row), height, width, 5) for row in range(rows)])}


def speech(samples, pitch=120):
    """A voice that says a vowel: a pulse through three formants."""
    t = np.arange(samples) / RATE
    pulse = np.sign(np.sin(2 * np.pi * pitch * t)) * (np.sin(2 * np.pi * pitch * t) > 0.9)
    return sum((pulse * np.sin(2 * np.pi * f * t) for f in (700, 1200, 2600)), np.zeros(samples)).astype(np.float32) / 3


def file_tokens(content):
    """A row of magika: the first and last 1,024 bytes of a file, 256 where there are none."""
    out = np.full(2048, 256, np.int32)
    first, last = (np.frombuffer(part, np.uint8) for part in (content[:1024], content[-1024:]))
    out[:len(first)] = first
    out[2048 - len(last):] = last
    return out


def files(rows, seed):
    """Sources of these tests, for magika."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return {"bytes": np.stack([file_tokens(sources[(seed + row) % len(sources)].read_bytes()) for row in range(rows)])}


def voices(file, fixed):
    """Inputs of a model of voices: 36 ms of one in each row, and the model's state after the 36 ms before."""
    def make(rows, seed):
        sound = np.stack([speech(2 * 576, 100 + 9 * ((seed + row) % 12)) for row in range(rows)])
        before = {"input": sound[:, :576], "state": np.zeros((2, rows, 128), np.float32)}
        return {"input": np.ascontiguousarray(sound[:, 576:]), "state": onnxruntime_run(file, before | fixed)[1]}
    return make


def steps(rows, seed):
    """A voice as a sequence: the steps are not rows, each changes the state of the next."""
    state = np.zeros((1, 1, 128), np.float32)
    return {"input": speech(rows * 576, 100 + 9 * (seed % 12)).reshape(rows, 576), "h": state, "c": state}


class PackageModel:
    """`make(rows, seed)` gives inputs. `batch` is the place of the dimension for batches: "rows", first in all inputs and
    outputs; "states", another one in states; or "none". `fixed` are inputs that never change."""

    def __init__(self, name, file, make, batch="rows", fixed=None):
        self.name, self.file, self.make, self.batch, self.fixed = name, file, make, batch, fixed or {}

    def sizes(self):
        return (1,) if self.batch == "none" else (1, 3, 8)

    def expected(self, inputs):
        """What onnxruntime answers, and how far an answer may be from it, for each output."""
        outputs = onnxruntime_run(self.file, inputs | self.fixed)
        plain = onnxruntime_run(self.file, inputs | self.fixed, optimised=False)
        return [(o, max(1e-4, 3 * distance(p, o))) for o, p in zip(outputs, plain, strict=True)]


def voice_model(name, batch="states", rate_is_an_input=False):
    file, fixed = VAD / f"{name}.onnx", {"sr": np.array(RATE, np.int64)} if rate_is_an_input else {}
    return PackageModel(name, file, voices(file, fixed), batch, fixed)


MODELS = (PackageModel("detector", DETECTOR, pictures(96, 160)),
          PackageModel("reader", READER, pictures(48, 320)),
          PackageModel("direction", DIRECTION, pictures(48, 192)),
          PackageModel("magika", MAGIKA, files),
          voice_model("silero_vad", rate_is_an_input=True),
          voice_model("silero_vad_16k_op15", rate_is_an_input=True),
          voice_model("silero_vad_op18_ifless", rate_is_an_input=True),
          voice_model("silero_vad_half"),
          voice_model("silero_vad_openvino_16k", "none"),
          PackageModel("silero_vad_16k_sequence", VAD / "silero_vad_16k_sequence.onnx", steps, "states"))


@functools.cache
def session(file, optimised):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def onnxruntime_run(file, inputs, optimised=True):
    return session(file, optimised).run(None, inputs)


def distance(got, expected):
    """Relative, in the L2 norm."""
    got, expected = np.asarray(got, np.float64).ravel(), np.asarray(expected, np.float64).ravel()
    return np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-12)
