# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""`meson install` into an empty directory gives what a user of the libraries and tools needs: a program compiles, links
and runs against the installed planning library through pkg-config alone. Usage: install_test.py BUILD MESON CXX"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, MESON, CXX = sys.argv[1:4]
PROGRAM = r"""
#include <cstdio>
#include <elixir/core/error.h>
#include <elixir/core/units.h>
#include <elixir/plan/plan.h>
#include <elixir/program/document.h>
#include <elixir/schedule/simulate.h>
#include <elixir/search/search.h>

int main() {
  try {
    (void)elixir::program::load_profile("no-such-file.json");
  } catch (const elixir::Error& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}
"""


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.directory.name) / "root"
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root], check=True)
        cls.prefix = next(path for path in cls.root.rglob("include") if (path / "elixir").is_dir()).parent

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def pkg_config(self, module, *what):
        path = next(self.prefix.rglob(f"{module}.pc")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=f"{path}:{os.environ.get('PKG_CONFIG_PATH', '')}")
        return subprocess.run(["pkg-config", f"--define-variable=prefix={self.prefix}", *what, module], check=True,
                              capture_output=True, text=True, env=environment).stdout.split()

    def test_a_program_builds_and_runs_against_the_planning_library(self):
        source = pathlib.Path(self.directory.name) / "main.cc"
        source.write_text(PROGRAM)
        program = source.with_suffix("")
        subprocess.run([CXX, "-std=c++20", "-Wall", "-Werror", source, "-o", program,
                        *self.pkg_config("elixir-plan", "--cflags"), *self.pkg_config("elixir-plan", "--libs")], check=True)
        library = next(self.prefix.rglob("libelixir-plan.so")).parent
        result = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=str(library)), capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no-such-file.json", result.stdout)

    def test_every_installed_header_compiles_alone(self):
        flags = self.pkg_config("elixir-plan", "--cflags")
        for header in sorted((self.prefix / "include/elixir").rglob("*.h")):
            if header.parent.name in ("capture", "runtime"):
                continue  # minutes of LibTorch; tests/check.sh compiles them
            with self.subTest(header=header.name):
                subprocess.run([CXX, "-std=c++20", "-fsyntax-only", "-x", "c++", *flags, header], check=True)

    def test_every_library_has_a_pkg_config_file(self):
        for library in self.prefix.rglob("libelixir*.so"):
            module = library.name[len("lib"):-len(".so")]
            self.assertTrue(list(self.prefix.rglob(f"{module}.pc")), module)

    def test_profiles_schemas_and_format_pages_are_installed(self):
        self.assertTrue(list((self.prefix / "share/elixir/schemas").glob("*.schema.json")))
        self.assertTrue(list((self.prefix / "share/doc/elixir/formats").glob("*.md")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
