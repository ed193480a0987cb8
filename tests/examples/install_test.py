# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""`meson install` into an empty directory gives what a user of the libraries and tools needs: a
program compiles, links and runs against the installed planning library through pkg-config alone;
installed programs start where they lie. Usage: install_test.py BUILD MESON CXX"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, MESON, CXX = sys.argv[1:4]
ROOT = pathlib.Path(__file__).resolve().parents[2]
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
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                        cls.root], check=True)
        cls.prefix = next(path for path in cls.root.rglob("include")
                          if (path / "elixir").is_dir()).parent

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def pkg_config(self, module, *what):
        path = next(self.prefix.rglob(f"{module}.pc")).parent
        environment = dict(os.environ,
                           PKG_CONFIG_PATH=f"{path}:{os.environ.get('PKG_CONFIG_PATH', '')}")
        return subprocess.run(["pkg-config", f"--define-variable=prefix={self.prefix}", *what,
                               module], check=True,
                              capture_output=True, text=True, env=environment).stdout.split()

    def test_a_program_builds_and_runs_against_the_planning_library(self):
        source = pathlib.Path(self.directory.name) / "main.cc"
        source.write_text(PROGRAM)
        program = source.with_suffix("")
        subprocess.run([CXX, "-std=c++20", "-Wall", "-Werror", source, "-o", program,
                        *self.pkg_config("elixir-plan", "--cflags"),
                        *self.pkg_config("elixir-plan", "--libs")], check=True)
        library = next(self.prefix.rglob("libelixir-plan.so")).parent
        result = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=str(library)),
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no-such-file.json", result.stdout)

    def test_every_installed_header_compiles_alone(self):
        flags = self.pkg_config("elixir-plan", "--cflags")
        headers = self.prefix / "include/elixir"
        for header in sorted(headers.rglob("*.h")):
            if header.relative_to(headers).parts[0] in ("capture", "runtime", "train"):
                continue  # minutes of LibTorch; tests/check.sh compiles them
            with self.subTest(header=header.name):
                subprocess.run([CXX, "-std=c++20", "-fsyntax-only", "-x", "c++", *flags, header],
                               check=True)

    def test_what_installed_headers_include_is_installed(self):
        headers = self.prefix / "include/elixir"
        for header in sorted(headers.rglob("*.h")):
            for included in re.findall(r'^#include "(.+)"', header.read_text(), re.MULTILINE):
                self.assertTrue((headers / included).is_file(),
                                f"{header.relative_to(headers)} includes {included}: "
                                f"build-aux/install/meson.build lacks it")

    def test_every_library_has_a_pkg_config_file(self):
        for library in self.prefix.rglob("libelixir*.so"):
            module = library.name[len("lib"):-len(".so")]
            self.assertTrue(list(self.prefix.rglob(f"{module}.pc")), module)

    def test_every_installed_program_starts_and_takes_the_libraries_beside_it(self):
        programs = (sorted((self.prefix / "bin").iterdir())
                    + sorted((self.prefix / "libexec").rglob("elixir-*")))
        self.assertIn("elixir-search", [program.name for program in programs])
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        for program in programs:
            with self.subTest(program=program.name):
                result = subprocess.run([program, "--version"],
                                        env={**environment, "LD_DEBUG": "files"},
                                        capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr[-2000:])
                loaded = {os.path.realpath(path)
                          for path in re.findall(r"calling init: (\S+)", result.stderr)}
                ours = {path for path in loaded if os.path.basename(path).startswith("libelixir")}
                self.assertTrue(ours)
                self.assertEqual({os.path.dirname(path) for path in ours},
                                 {os.path.realpath(self.libraries())})

    def libraries(self):
        return next(self.prefix.rglob("libelixir-plan.so")).parent

    def test_there_are_man_pages_where_there_is_help2man(self):
        pages = {path.stem for path in self.prefix.rglob("man1/*.1")}
        tools = {path.name for path in (self.prefix / "bin").iterdir()}
        self.assertEqual(pages, tools if shutil.which("help2man") else set())

    def test_no_help2man_is_said(self):
        build = pathlib.Path(self.directory.name) / "build"
        hidden = pathlib.Path(self.directory.name) / "hidden.ini"
        hidden.write_text("[binaries]\nhelp2man = 'no-such-help2man'\n")
        result = subprocess.run([MESON, "setup", build, ROOT, "-Dtorch=disabled", "-Dtests=false",
                                 "--native-file", hidden],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("no help2man: there will be no man pages", result.stdout)

    def test_profiles_schemas_and_format_pages_are_installed(self):
        self.assertTrue(list((self.prefix / "share/elixir/schemas").glob("*.schema.json")))
        self.assertTrue(list((self.prefix / "share/doc/elixir/formats").glob("*.md")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
