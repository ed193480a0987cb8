#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The chart of a page that `elixir-profile --html` wrote, as an SVG that stands alone: with the
page's colours, dark and light, and with a legend.

  scripts/page_picture.py b.html picture.svg"""
import pathlib
import re
import sys

LEGEND_HEIGHT = 34


def picture(page):
    chart = re.search(r"<svg id=\"chart\".*?</svg>", page, re.S)[0]
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    # Colours and what belongs to the chart; the rest lays out the page.
    colours = re.findall(r"(:root\s*{[^}]*}|@media \(prefers-color-scheme: dark\)\s*{\s*:root\s*"
                         r"{[^}]*}\s*})", style)
    drawn = re.findall(r"((?:path\.c-|\.axis|svg text|#peak|#boundary)[^{}]*{[^}]*})", style)
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', chart).groups())
    legend, x = "", 76
    for key, label in re.findall(r'<path class="c-([\w-]+)"[^>]*><title>([^<]*)</title>', chart):
        legend += (f'<path class="c-{key}" d="M{x} {height + 6:g}h12v12h-12z"/>'
                   f'<text x="{x + 18}" y="{height + 17:g}">{label}</text>')
        x += 46 + 7 * len(label)
    body = re.sub(r"^<svg[^>]*>|</svg>$", "", chart)
    body = re.sub(r'<(?:line id="cursor"|rect id="selection")[^>]*/>', "", body)
    name = re.search(r'aria-label="([^"]*)"', chart)[1]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} '
            f'{height + LEGEND_HEIGHT:g}" role="img" aria-label="{name}">\n<style>\n'
            + "\n".join(colours + drawn)
            + "\nsvg { font-family: system-ui, sans-serif; }\n</style>\n"
            f'<rect width="100%" height="100%" fill="var(--panel)"/>\n{body}\n{legend}\n</svg>\n')


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(
        picture(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
