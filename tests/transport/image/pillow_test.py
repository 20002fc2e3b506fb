#!/usr/bin/env python3
"""Random images and specifications, and any photos, through transport/image and through Pillow: the same values.

    pillow_test.py IMAGE_RUNNER [PHOTO...]

Needs the Python of tests/requirements.txt.
"""
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "nearest": Image.Resampling.NEAREST}
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/images"
KINDS = (("PNG", {}), ("JPEG", {"quality": 85}), ("JPEG", {"quality": 95, "subsampling": 0}),
         ("JPEG", {"quality": 60, "progressive": True}), ("JPEG", {"quality": 75, "subsampling": 1}),
         ("WEBP", {"quality": 80}), ("WEBP", {"lossless": True}))
MODES = ("RGB", "L", "P", "RGBA", "LA", "1", "CMYK")


def resized(image, size, how):
    """As torchvision's Resize."""
    if isinstance(size, tuple):
        return image.resize((size[1], size[0]), how)
    short, long = sorted(image.size)
    if short == size:
        return image
    other = int(size * long / short)
    return image.resize((size, other) if image.width <= image.height else (other, size), how)


def cropped(image, size):
    """As torchvision's CenterCrop; None where that would add zeros."""
    height, width = size
    if image.width < width or image.height < height:
        return None
    left, top = int(round((image.width - width) / 2.0)), int(round((image.height - height) / 2.0))
    return image.crop((left, top, left + width, top + height))


def expected(file, spec):
    filter_name, resize, crop, channels, layout = spec
    image = Image.open(file).convert("L" if channels == "l" else "RGB")
    if resize is not None:
        image = resized(image, resize, FILTERS[filter_name])
    if crop is not None:
        image = cropped(image, crop)
        if image is None:
            return None
    values = np.asarray(image)
    values = values[:, :, None] if values.ndim == 2 else values
    if channels == "bgr":
        values = values[:, :, ::-1]
    return values if layout == "nhwc" else values.transpose(2, 0, 1)


def random_spec(chance):
    side = lambda: chance.choice((1, 2, 7, 32, 64, 224, 257))
    resize = chance.choice((None, side(), (side(), side()), (side(), side())))
    crop = None if isinstance(resize, tuple) and chance.random() < 0.6 else (side(), side())
    if resize is not None and crop is not None:  # mostly not larger than the image
        least = (resize, resize) if isinstance(resize, int) else resize
        crop = tuple(min(c, x) if chance.random() < 0.9 else c for c, x in zip(crop, least))
    return (chance.choice(list(FILTERS)), resize, crop, chance.choice(("rgb", "bgr", "l")), chance.choice(("nchw", "nhwc")))


def written(size):
    return "-" if size is None else "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def random_file(chance, folder, number):
    width, height = (chance.choice((1, 2, 3, 17, 64, 200, 333, chance.randrange(1, 700))) for _ in range(2))
    generator = np.random.default_rng(chance.randrange(1 << 30))
    small = generator.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
    image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
    kind, options = chance.choice(KINDS)
    allowed = {"PNG": MODES[:6], "JPEG": ("RGB", "L", "CMYK"), "WEBP": ("RGB", "RGBA")}[kind]
    mode = chance.choice(allowed)
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.fromarray(generator.integers(0, 256, (height, width), dtype=np.uint8)))
    path = folder / f"image{number}"
    image.convert(mode).save(path, kind, **options)
    return path


def compare(runner, jobs, folder):
    """The largest difference of each job's values; None: both refuse."""
    lines = "".join(f"{spec[0]} {written(spec[1])} {written(spec[2])} {spec[3]} {spec[4]} {file} {folder / f'out{i}'}\n"
                    for i, (file, spec) in enumerate(jobs))
    done = subprocess.run([runner], input=lines, capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(jobs), done
    for i, ((file, spec), answer) in enumerate(zip(jobs, answers)):
        values = expected(file, spec)
        if values is None:
            assert "less than preprocess.crop" in answer, (file, spec, answer)
            yield None
            continue
        assert answer == "ok", (file, spec, answer)
        got = np.frombuffer((folder / f"out{i}").read_bytes(), dtype=np.uint8)
        assert got.size == values.size, (file, spec)
        yield int(np.abs(got.astype(int) - values.ravel().astype(int)).max())


def main():
    runner, *photos = sys.argv[1:]
    warnings.simplefilter("ignore")  # Pillow's, about transparent palettes
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if photos:
            files = photos
            specs = [(f, r, c, "rgb", "nchw") for f in FILTERS for r, c in ((256, (224, 224)), ((299, 299), None), (32, (32, 32)))]
            jobs = [(file, spec) for file in files for spec in specs]
        else:
            files = [random_file(chance, folder, i) for i in range(150)]
            files += [FIXTURES / line.split()[0] for line in (FIXTURES / "images.txt").read_text().splitlines()]
            jobs = [(file, random_spec(chance)) for file in files for _ in range(3)]
        results = list(compare(runner, jobs, folder))
    worst = max(range(len(jobs)), key=lambda i: -1 if results[i] is None else results[i])
    same = sum(r == 0 for r in results)
    print(f"{len(files)} images, {len(jobs)} tensors: {same} equal, {results.count(None)} refused by both; the largest difference is "
          f"{results[worst]} of 255, of {jobs[worst]}")
    assert results[worst] == 0
    assert same > len(jobs) / 2


if __name__ == "__main__":
    main()
