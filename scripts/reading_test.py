#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""How easily the prose reads (CONTRIBUTING.md, "Words"): the mean and the longest sentence of each
page, and passages drawn by a seed from comments, pages and messages. A person reads the passages;
none should need a second reading.

  scripts/reading_test.py                         # every page
  scripts/reading_test.py README.md docs/*.md     # these
  scripts/reading_test.py --passages 20 --seed 1  # passages, too
"""
import argparse
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Not the end of a sentence.
ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "et al.", "vs.", "No.")


def paragraphs(text):
    """Prose of a Markdown page: no code, tables or headings; one paragraph or list item each."""
    text = re.sub(r"^ *```.*?^ *```[^\n]*$", "", text, flags=re.M | re.S)
    found, open_ = [], []
    for line in [*text.splitlines(), ""]:
        item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if not line.strip() or line.startswith(("#", "|")) or item:
            found.append(" ".join(open_))
            open_ = []
        if item:
            line = line[item.end():]
        if line.strip() and not line.startswith(("#", "|")):
            open_.append(line.strip())
    return [re.sub(r"\]\([^)]*\)", "]", each) for each in found if each]


def sentences(paragraph):
    """A paragraph's sentences. A colon ends none; a point ends one before a capital or a name."""
    for name in ABBREVIATIONS:
        paragraph = paragraph.replace(name, name.replace(".", "\0"))
    parts = re.split(r"(?<=[.!?])[*_)\"”]*\s+(?=[A-Z`\"*_\[(])", paragraph)
    return [part.replace("\0", ".") for part in parts if re.search(r"[A-Za-z]", part)]


def page_row(path):
    lengths = [len(sentence.split())
               for paragraph in paragraphs(path.read_text(encoding="utf-8"))
               for sentence in sentences(paragraph)]
    mean = sum(lengths) / len(lengths) if lengths else 0
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return (path.relative_to(ROOT).as_posix(), lines, len(lengths), f"{mean:.1f}",
            max(lengths, default=0))


def sources(*suffixes):
    return sorted(path for folder in ("lib", "kernels", "tools")
                  for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)


def comments():
    """(place, comment) of every block of comment lines in the sources that has a sentence."""
    for path in sources(".h", ".cc", ".cu", ".cuh"):
        text = path.read_text(encoding="utf-8")
        for block in re.finditer(r"(?:^[ \t]*//[^\n]*\n)+", text, flags=re.M):
            words = " ".join(re.sub(r"^\s*//[/<]?\s?", "", line) for line in block[0].splitlines())
            if "SPDX" not in words and len(words.split()) >= 8:
                line = text.count("\n", 0, block.start()) + 1
                yield f"{path.relative_to(ROOT)}:{line}", words


def messages():
    """(place, text) of string literals that read like a message."""
    for path in sources(".cc"):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
            words = re.sub(r'"\s*"', "", found[0]).strip('"')
            if len(words.split()) >= 8:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(ROOT)}:{line}", words


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--passages", type=int, default=0, help="as many passages (default: none)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages] or sorted(
        [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    print("| page | lines | sentences | mean words | longest |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for page in pages:
        print("| " + " | ".join(map(str, page_row(page))) + " |")
    if options.passages:
        drawn = random.Random(options.seed)
        prose = [(page.relative_to(ROOT).as_posix(), paragraph)
                 for page in pages for paragraph in paragraphs(page.read_text(encoding="utf-8"))
                 if len(paragraph.split()) >= 8]
        kinds = [prose, list(comments()), list(messages())]
        for number in range(options.passages):
            place, text = drawn.choice(kinds[number % len(kinds)])
            print(f"\n{number + 1}. {place}\n   {text}")


if __name__ == "__main__":
    main()
