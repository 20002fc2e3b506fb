#!/usr/bin/env python3
"""Makes the images of tests/fixtures/images, and what Pillow reads and makes of them.

    make_images.py FOLDER          writes all files
    make_images.py --check FOLDER  returns 1 if it would write other files

Each image file X has its pixels in X.rgb, of Image.convert("RGB"), and its size in images.txt. `resized` has results of
Image.resize of base.png. Needs the Python of tests/requirements.txt.
"""
import io
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 45, 31
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "nearest": Image.Resampling.NEAREST}
SIZES = ((12, 17), (40, 33), (90, 7), (3, 70), (45, 10), (19, 31))  # width, height


def base():
    """Gradients, edges and noise."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    noise = np.random.default_rng(7).integers(-20, 21, (HEIGHT, WIDTH, 3))
    colours = np.stack([x * 255 / WIDTH, y * 255 / HEIGHT, 128 + 100 * np.sin(x / 4) * np.cos(y / 5)], axis=-1)
    colours[8:16, 10:20] = (255, 0, 30)
    colours[20:26, 25:40] = (0, 255, 240)
    return np.clip(colours + noise, 0, 255).astype(np.uint8)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(values, colour_type, interlaced=False):
    """A PNG of values with 8 or 16 bits, of the kinds that Pillow does not write."""
    height, width = values.shape[:2]
    depth = values.dtype.itemsize * 8
    big = values.astype(values.dtype.newbyteorder(">"))
    adam7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    rows = b""
    for x, y, step_x, step_y in adam7 if interlaced else ((0, 0, 1, 1),):
        for row in big[y::step_y, x::step_x]:
            if row.size:
                rows += b"\0" + row.tobytes()
    head = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + png_chunk(b"IDAT", zlib.compress(rows, 9)) +
            png_chunk(b"IEND", b""))


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def files():
    """Contents by name."""
    rgb = Image.fromarray(base())
    grey = rgb.convert("L")
    alpha = Image.fromarray((np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH) % 256).astype(np.uint8))
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    palette = rgb.quantize(50)
    wide = (base() * 257.0 - 3 * (base() > 100)).astype(np.uint16)
    noisy = Image.fromarray(np.random.default_rng(8).integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8), "CMYK")
    frames = [rgb, Image.fromarray(255 - base())]
    return {
        "base.png": encoded(rgb, "PNG"),
        "baseline.jpg": encoded(rgb, "JPEG", quality=80),
        "progressive.jpg": encoded(rgb, "JPEG", quality=80, progressive=True),
        "full.jpg": encoded(rgb, "JPEG", quality=95, subsampling=0),
        "half.jpg": encoded(rgb, "JPEG", quality=70, subsampling=1),
        "restarts.jpg": encoded(rgb, "JPEG", quality=60, restart_marker_blocks=2),
        "grey.jpg": encoded(grey, "JPEG", quality=80),
        "cmyk.jpg": encoded(noisy, "JPEG", quality=80),
        "grey.png": encoded(grey, "PNG"),
        "black_and_white.png": encoded(grey.convert("1"), "PNG"),
        "palette.png": encoded(palette, "PNG"),
        "palette_4_bits.png": encoded(rgb.quantize(9), "PNG", bits=4),
        "palette_alpha.png": encoded(palette, "PNG", transparency=bytes(range(50))),
        "transparent_colour.png": encoded(rgb, "PNG", transparency=(255, 0, 30)),
        "rgba.png": encoded(rgba, "PNG"),
        "grey_alpha.png": encoded(rgba.convert("LA"), "PNG"),
        "rgb_16_bits.png": png(wide, 2),
        "interlaced.png": png(base(), 2, interlaced=True),
        "interlaced_grey.png": png(np.asarray(grey), 0, interlaced=True),
        "lossy.webp": encoded(rgb, "WEBP", quality=70),
        "lossless.webp": encoded(rgb, "WEBP", lossless=True),
        "lossy_alpha.webp": encoded(rgba, "WEBP", quality=70),
        "lossless_alpha.webp": encoded(rgba, "WEBP", lossless=True, exact=True),
        # refused
        "refused/grey_16_bits.png": png(wide[:, :, 0], 0),
        "refused/animated.webp": encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True),
        "refused/image.gif": encoded(palette, "GIF"),
        # headers that claim many pixels
        "refused/60000x60000.png": png_of_size(60000, 60000),
        "refused/100000x1.png": png_of_size(100000, 1),
        "refused/16383x16383.webp": webp_of_size(16383, 16383),
        "refused/65500x65500.jpg": jpeg_of_size(encoded(rgb, "JPEG"), 65500, 65500),
    }


def png_of_size(width, height):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + png_chunk(b"IDAT", zlib.compress(bytes(10000), 9)) +
            png_chunk(b"IEND", b""))


def webp_of_size(width, height):
    data = b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + bytes(5)
    return b"RIFF" + struct.pack("<I", 4 + 8 + len(data)) + b"WEBPVP8L" + struct.pack("<I", len(data)) + data


def jpeg_of_size(data, width, height):
    """The same file with another size in its header."""
    at = data.index(b"\xff\xc0")
    return data[:at + 5] + struct.pack(">HH", height, width) + data[at + 9:]


def write(folder):
    (folder / "refused").mkdir(parents=True, exist_ok=True)
    (folder / "resized").mkdir(exist_ok=True)
    sizes = ""
    for name, data in files().items():
        (folder / name).write_bytes(data)
        if name.startswith("refused/"):
            continue
        read = Image.open(io.BytesIO(data)).convert("RGB")
        sizes += f"{name} {read.width} {read.height}\n"
        (folder / f"{name}.rgb").write_bytes(read.tobytes())
    (folder / "images.txt").write_text(sizes)
    image = Image.open(folder / "base.png")
    (folder / "luminance").write_bytes(image.convert("L").tobytes())
    for name, how in FILTERS.items():
        for width, height in SIZES:
            (folder / f"resized/{name}_{width}x{height}").write_bytes(image.resize((width, height), how).tobytes())


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) != 2 + check:
        sys.exit(__doc__)
    folder = Path(sys.argv[-1])
    if not check:
        return write(folder)
    with tempfile.TemporaryDirectory() as fresh:
        write(Path(fresh))
        now, then = contents(Path(fresh)), contents(folder)
        other = sorted(str(p) for p in now.keys() | then.keys() if now.get(p) != then.get(p))
    if other:
        sys.exit(f"{folder} differs from what {sys.argv[0]} makes: {', '.join(other)}")


if __name__ == "__main__":
    main()
