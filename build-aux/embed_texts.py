# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Makes a C++ source with the texts of files: embed_texts.py OUT.cc HEADER NAME=FILE…

HEADER declares each NAME as `extern const std::string_view` in namespace elixir::report. Texts that
are written and tested as files (a page's style and script) are compiled in, so that a tool needs no
files beside it."""
import pathlib
import sys


def main():
    output, header, *texts = sys.argv[1:]
    lines = ["// Made by build-aux/embed_texts.py.", f'#include "{header}"', "",
             "namespace elixir::report {", ""]
    for entry in texts:
        name, path = entry.split("=", 1)
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if ')ELIXIR"' in text:
            sys.exit(f"embed_texts.py: {path} contains the delimiter")
        lines += [f'const std::string_view {name} = R"ELIXIR({text})ELIXIR";', ""]
    lines += ["}  // namespace elixir::report", ""]
    pathlib.Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
