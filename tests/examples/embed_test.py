# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/embed.cc builds against an installation through pkg-config alone, trains, and its loss
falls under a budget of a quarter of the model's state. Usage: embed_test.py BUILD MESON CXX"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, MESON, CXX = sys.argv[1:4]
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples/embed.cc"


class EmbedTest(unittest.TestCase):
    def test_it_builds_trains_and_moves_chunks(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                            root], check=True)
            prefix = next(path for path in root.rglob("include")
                          if (path / "elixir").is_dir()).parent
            environment = dict(os.environ,
                               PKG_CONFIG_PATH=str(next(prefix.rglob("elixir.pc")).parent),
                               LD_LIBRARY_PATH=str(next(prefix.rglob("libelixir.so")).parent),
                               ELIXIR_PROFILES=str(prefix / "share/elixir/profiles"))
            flags = subprocess.run(["pkg-config", f"--define-variable=prefix={prefix}", "--cflags",
                                    "--libs", "elixir"],
                                   check=True, capture_output=True, text=True,
                                   env=environment).stdout.split()
            program = root / "embed"
            subprocess.run([CXX, "-std=c++20", SOURCE, *flags, "-o", program], check=True)
            result = subprocess.run([program], env=environment, capture_output=True, text=True,
                                    check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        losses = [float(loss) for loss in re.findall(r"loss (\S+)", result.stdout)]
        fetched = [int(count) for count in re.findall(r"(\d+) chunks fetched", result.stdout)]
        self.assertEqual(len(losses), 4, result.stdout)
        self.assertLess(losses[-1], 0.8 * losses[0], result.stdout)
        self.assertTrue(all(count > 0 for count in fetched), result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
