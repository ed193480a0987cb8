# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Headless Chromium for tests of pages: what it complains about, what it makes of a page, how the
page looks."""
import re
import shutil
import struct
import subprocess
import tempfile
import zlib


def find():
    """Path of a Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, binary):
        self.binary = binary

    def _run(self, page, *arguments):
        with tempfile.TemporaryDirectory(prefix="elixir-browser-") as home:
            process = subprocess.run(
                [
                    self.binary, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    "--no-first-run", "--disable-extensions", "--disable-background-networking",
                    f"--user-data-dir={home}", "--enable-logging=stderr",
                    "--virtual-time-budget=4000", *arguments, f"file://{page}",
                ],
                capture_output=True,
                timeout=180,
            )
        complaints = re.findall(r"CONSOLE[^\]]*\] (.*)", process.stderr.decode("utf-8", "replace"))
        if process.returncode != 0:
            raise RuntimeError(
                f"chromium ended with {process.returncode}: {process.stderr[-2000:]}")
        return process.stdout.decode("utf-8"), complaints

    def dom(self, page, *arguments):
        """(document after its scripts ran, what the console was told)"""
        return self._run(page, "--dump-dom", *arguments)

    def picture(self, page, width, height, dark=False):
        """Rows of (red, green, blue) of the page's upper left."""
        with tempfile.TemporaryDirectory(prefix="elixir-picture-") as directory:
            path = f"{directory}/page.png"
            scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
            self._run(page, f"--screenshot={path}", f"--window-size={width},{height}", *scheme)
            with open(path, "rb") as file:
                return decode_png(file.read())


def decode_png(data):
    """Pixels of a PNG of 8 bits per channel, RGB or RGBA, not interlaced: what Chromium writes."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG")
    at, body = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunk)
            if depth != 8 or colour not in (2, 6) or interlaced:
                raise ValueError("an unexpected kind of PNG")
            step = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            body += chunk
        at += 12 + length
    raw = zlib.decompress(body)
    stride = width * step
    previous = bytearray(stride)
    rows = []
    for y in range(height):
        start = y * (stride + 1)
        line = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], line, previous, step)
        rows.append([tuple(line[x:x + 3]) for x in range(0, stride, step)])
        previous = line
    return rows


def unfilter(kind, line, previous, step):
    """Undoes a PNG line's filter in place (PNG specification, 9.2)."""
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        for i in range(len(line)):
            line[i] = (line[i] + previous[i]) & 255
    elif kind == 3:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            line[i] = (line[i] + (left + previous[i]) // 2) & 255
    elif kind == 4:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            corner = previous[i - step] if i >= step else 0
            up = previous[i]
            near_left, near_up, near_corner = abs(up - corner), abs(left - corner), abs(
                left + up - 2 * corner)
            best = (left if near_left <= near_up and near_left <= near_corner else up
                    if near_up <= near_corner else corner)
            line[i] = (line[i] + best) & 255
