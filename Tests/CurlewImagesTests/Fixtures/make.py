#!/usr/bin/env python3
"""Makes the pictures of this folder anew, with Pillow and jpegtran: each shows red, green, blue and white quarters when it is upright."""

import io
import struct
import subprocess
import sys
from pathlib import Path

from PIL import Image, ImageCms

HERE = Path(__file__).resolve().parent
RED, GREEN, BLUE, WHITE = (230, 20, 20), (20, 200, 20), (20, 20, 220), (250, 250, 250)


def quarters(size=(48, 32), mode="RGB"):
    width, height = size
    image = Image.new("RGB", size, WHITE)
    image.paste(RED, (0, 0, width // 2, height // 2))
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    return image.convert(mode)


def stored(orientation):
    """The upright picture as a camera stores it that was held so."""
    turns = {
        1: [], 2: [Image.Transpose.FLIP_LEFT_RIGHT], 3: [Image.Transpose.ROTATE_180], 4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE], 6: [Image.Transpose.ROTATE_90], 7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    image = quarters()
    for turn in turns[orientation]:
        image = image.transpose(turn)
    return image


def box(name, *content):
    content = b"".join(content)
    return struct.pack(">I", 8 + len(content)) + name + content


def full(name, *content, version=0):
    return box(name, bytes([version, 0, 0, 0]), *content)


def grid(tile, rows, columns, side, clap=b""):
    """An AVIF of tiles (ISO/IEC 23008-12, 6.6.2.3), all of which are one: the only AV1 image of another AVIF. Of what `clap` names a part is shown."""
    pixels = tile[tile.index(b"mdat") + 4:]
    coding = tile[tile.index(b"av1C") - 4:tile.index(b"av1C") + 8]
    depths = tile[tile.index(b"pixi") - 4:tile.index(b"pixi") + 12]
    tiles = range(2, rows * columns + 2)
    width, height = columns * side, rows * side
    layout = struct.pack(">BBBBII", 0, 1, rows - 1, columns - 1, width, height)
    names = [full(b"infe", struct.pack(">HH", 1, 0), b"grid\0", version=2)]
    names += [full(b"infe", struct.pack(">HH", number, 0), b"av01\0", version=2) for number in tiles]
    sizes = [full(b"ispe", struct.pack(">II", *size)) for size in [(width, height), (side, side)]]
    properties = [*sizes, depths, coding] + ([box(b"clap", clap)] if clap else [])
    of_grid = [1, 3] + ([0x85] if clap else [])
    links = struct.pack(">HB", 1, len(of_grid)) + bytes(of_grid)
    links += b"".join(struct.pack(">HB", number, 3) + bytes([2, 3, 0x84]) for number in tiles)

    def head(start):
        places = struct.pack(">HHHII", 1, 0, 1, start, len(layout))
        places += b"".join(struct.pack(">HHHII", number, 0, 1, start + len(layout), len(pixels)) for number in tiles)
        return full(
            b"meta", full(b"hdlr", bytes(4), b"pict", bytes(13)), full(b"pitm", struct.pack(">H", 1)),
            full(b"iloc", bytes([0x44, 0]), struct.pack(">H", len(tiles) + 1), places),
            full(b"iinf", struct.pack(">H", len(tiles) + 1), *names),
            full(b"iref", box(b"dimg", struct.pack(">HH", 1, len(tiles)), *(struct.pack(">H", number) for number in tiles))),
            box(b"iprp", box(b"ipco", *properties), full(b"ipma", struct.pack(">I", len(tiles) + 1), links)))

    kind = box(b"ftyp", b"avif", bytes(4), b"avifmif1miafMA1B")
    return kind + head(len(kind) + len(head(0)) + 8) + box(b"mdat", layout, pixels)


def main():
    image = quarters()
    image.save(HERE / "plain.png")
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=4).save(HERE / "palette.png", bits=2)
    image.save(HERE / "plain.jpg", quality=95, subsampling=0)
    image.save(HERE / "progressive.jpg", quality=95, progressive=True)
    scans = ["0,1,2: 0-0, 0, 0;", *(f"0: {number}-{number}, 0, 0;" for number in range(1, 14))]
    scans += ["0: 14-63, 0, 0;", "1: 1-63, 0, 0;", "2: 1-63, 0, 0;"]
    subprocess.run(
        ["jpegtran", "-scans", "/dev/stdin", "-outfile", HERE / "scans.jpg", HERE / "plain.jpg"],
        input="\n".join(scans).encode(), check=True)
    image.convert("CMYK").save(HERE / "cmyk.jpg", quality=95)
    image.save(HERE / "profile.jpg", quality=95, icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    for number in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = number
        stored(number).save(HERE / f"turned-{number}.jpg", quality=95, subsampling=0, exif=exif)
        # As a property of the file: Pillow makes irot and imir of it.
        stored(number).save(HERE / f"turned-{number}.avif", quality=95, subsampling="4:4:4", exif=exif)
    exif = Image.Exif()
    exif[0x0112] = 6
    stored(6).save(HERE / "turned-6.png", exif=exif)
    stored(6).save(HERE / "turned-6.webp", lossless=True, exif=exif)
    stored(6).save(HERE / "turned-6.tif", exif=exif)
    image.save(HERE / "plain.gif")
    image.save(HERE / "interlaced.gif", interlace=1)
    other = image.transpose(Image.Transpose.ROTATE_180)
    image.save(HERE / "moving.gif", save_all=True, append_images=[other, image], duration=[100, 250, 40], loop=0, disposal=2)
    image.save(HERE / "moving.webp", save_all=True, append_images=[other, image], duration=[100, 250, 40], lossless=True)
    image.save(HERE / "moving.avif", save_all=True, append_images=[other], duration=[100, 250], quality=95)
    image.save(HERE / "lossy.webp", quality=90)
    tile = io.BytesIO()
    quarters((64, 64)).save(tile, "AVIF", quality=95, subsampling="4:4:4")
    (HERE / "grid.avif").write_bytes(grid(tile.getvalue(), 2, 2, 64))
    # The tile at the lower right: its left edge is 32 pixels from the middle, and so is its upper edge.
    clap = struct.pack(">IIIIiIiI", 64, 1, 64, 1, 32, 1, 32, 1)
    (HERE / "clap.avif").write_bytes(grid(tile.getvalue(), 2, 2, 64, clap))
    # Tiles of 1024 pixels a side that say that they have 64.
    large = io.BytesIO()
    quarters((1024, 1024)).save(large, "AVIF", quality=50)
    (HERE / "bomb.avif").write_bytes(grid(large.getvalue(), 8, 8, 64))
    image.save(HERE / "lossless.webp", lossless=True)
    image.save(HERE / "plain.avif", quality=95, subsampling="4:4:4")
    for compression in ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"]:
        image.save(HERE / f"{compression.removeprefix('tiff_')}.tif", compression=compression)
    image.save(HERE / "24.bmp")
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=4).save(HERE / "8.bmp")
    image.convert("RGBA").save(HERE / "32.bmp")
    image.resize((32, 32)).convert("RGBA").save(HERE / "png.ico", sizes=[(16, 16), (32, 32)])
    image.resize((32, 32)).convert("RGBA").save(HERE / "bmp.ico", sizes=[(16, 16), (32, 32)], bitmap_format="bmp")
    half = Image.new("RGBA", (8, 8), (200, 100, 50, 128))
    half.save(HERE / "half.png")
    half.save(HERE / "half.webp", lossless=True)


sys.exit(main())
