# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Every check of tests/check.sh passes on a small tree, and fails, naming the place, once a fault
is planted there.

The tree has no git: what is checked must not depend on it. Usage: check_test.py CXX"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CXX = sys.argv[1]
COPIED = (
    ".clang-format", ".clang-tidy", "meson_options.txt", "build-aux/check_includes.py",
    "build-aux/check_links.py", "build-aux/list_sources.py", "build-aux/compile_alone.py",
    "build-aux/lsan.supp", "build-aux/tidy_sources.py", "tests/check.sh", "tests/check_schemas.py",
)
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HASH_SPDX = "# SPDX-License-Identifier: Apache-2.0\n"
# As the real one: which flags the sanitizers' builds get.
MESON = """\
project('small', 'cpp', default_options: ['cpp_std=c++20', 'warning_level=3', 'werror=true'])
args = {'none': [], 'address': ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'],
        'thread': ['-fsanitize=thread']}
add_project_arguments(args[get_option('sanitizer')], language: 'cpp')
add_project_link_arguments(args[get_option('sanitizer')], language: 'cpp')
exe = executable('small-test', 'tests/small_test.cc', 'lib/core/number.cc',
                 include_directories: 'lib', dependencies: dependency('threads'))
test('lanes', exe, protocol: 'gtest')
test('task-order', exe, protocol: 'gtest')
test('host-operations', exe, protocol: 'gtest')
test('thread-pool', exe, protocol: 'gtest')
test('parallel', exe, protocol: 'gtest')
test('search', exe, protocol: 'gtest')
executable('not-tested', 'tests/not_tested.cc')
"""
TEST = """\
#include <string>
#include <thread>

#include "core/number.h"

int main(int arguments, char**) {{
  int shared = arguments;
  {fault}
  return shared == 12345 || elixir::number().empty() ? 1 : 0;
}}
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="elixir-checks-")) / "tree"
        self.addCleanup(shutil.rmtree, self.tree.parent, ignore_errors=True)
        for path in COPIED:
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, self.tree / path)
        for kind, value in (("valid", '{"a": 1}'), ("invalid", '{"a": "x"}')):
            self.write(f"schemas/examples/{kind}/small.json", value)
        self.write("schemas/small.schema.json",
                   '{"type": "object", "properties": {"a": {"type": "integer"}}}')
        self.write("lib/core/number.h",
                   SPDX + "#pragma once\n#include <string>\n\nnamespace elixir {\n"
                          "std::string number();\n}  // namespace elixir\n")
        self.write("lib/core/number.cc", SPDX + '#include "core/number.h"\n\nnamespace elixir {\n'
                                                'std::string number() {\n  return "1";\n}\n'
                                                '}  // namespace elixir\n')
        self.write("tests/small_test.cc", SPDX + TEST.format(fault="shared += 0;"))
        self.write("tests/not_tested.cc", SPDX + "int main() {\n  return 0;\n}\n")
        self.write("README.md",
                   "# Small\n\nSee [how](docs/how.md#what-it-does) and [below](#small).\n")
        self.write("docs/how.md", "# How\n\n## What it does\n\n[Back](../README.md)\n")
        self.write("examples/setup.sh", HASH_SPDX + "exit 1\n")
        self.write(".ci/run", "true\n")
        self.write("build-aux/torch/locate.py", HASH_SPDX + f'print("{self.tree.parent}/torch")\n')
        (self.tree / "build").mkdir()
        self.write("meson.build", MESON)

    def write(self, path, text):
        path = self.tree / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, name):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("CI", "NINJA", "GTEST_FILTER") and not k.startswith("MESON")}
        environment.update(ELIXIR_PYTHON=sys.executable, CXX=CXX, PYTHONDONTWRITEBYTECODE="1")
        result = subprocess.run([self.tree / "tests/check.sh", name], cwd="/", env=environment,
                                capture_output=True, text=True)
        self.assertNotIn("waived", result.stdout)
        return result.returncode, result.stdout + result.stderr

    def passes(self, name):
        code, text = self.check(name)
        self.assertEqual(code, 0, text)

    def fails(self, name, *mentioned):
        code, text = self.check(name)
        self.assertEqual(code, 1, text)
        self.assertIn(f"FAILED  {name}", text)
        for each in mentioned:
            self.assertIn(each, text)

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f"no {tool}")


class Format(Tree):
    def test_a_file_in_any_folder_that_is_not_formatted_is_named(self):
        self.need("clang-format-14")
        self.passes("format")
        places = ("lib/operators/scratch/deep/a.h", "lib/replay/a.cc", "kernels/a.cu",
                  "tools/common/a.cc", "tests/b/a.cc", "benchmarks/a.cc", "examples/a.cc",
                  "scripts/recording/a.cc", "build-aux/a.h")
        for place in places:
            self.write(place, SPDX + "int  a ;\n")
        self.fails("format", *places)

    def test_what_is_built_is_not_looked_at(self):
        self.need("clang-format-14")
        for marked in ("build-own/meson-private/x", "environment/pyvenv.cfg", "checkout/.git",
                       "runs/x", ".cache/x"):
            self.write(marked, "")
            self.write(str(pathlib.Path(marked).parent / "a.h"), "int  a ;\n")
        self.passes("format")

    def test_nothing_to_look_at_fails(self):
        self.need("clang-format-14")
        for path in self.tree.rglob("*.[hc]*"):
            if path.suffix in (".h", ".cc"):
                path.unlink()
        for name in ("format", "alone", "includes"):
            self.fails(name, "nothing would be checked")


class Columns(Tree):
    def test_a_line_of_more_than_100_columns_is_named(self):
        comment = "x" * 98
        for place, mark in (("lib/core/a.h", "//"), ("kernels/a.cu", "//"), ("scripts/a.py", "#"),
                            ("tests/gpu/a.sh", "#"), (".ci/run", "#"), ("lib/meson.build", "#")):
            with self.subTest(place=place):
                self.write(place, f"\n{(mark + comment)[:99]}é\n")
                self.passes("columns")
                self.write(place, f"\n{(mark + comment)[:99]}éé\n")
                self.fails("columns", f"{place}:2:")
                self.write(place, "\n")

    def test_web_addresses_and_rows_of_strings_may_be_longer(self):
        self.write("scripts/a.py", f"# https://example.org/{'x' * 100}\n")
        self.write("lib/core/a.cc", f'    {{"{"x" * 100}", 1}},\n    R"({"x" * 100})",\n')
        self.passes("columns")
        self.write("scripts/a.py", f'    "{"x" * 100}",\n')
        self.write("lib/core/b.cc", f'int a = f("{"x" * 100}");\n')
        self.fails("columns", "scripts/a.py:1", "lib/core/b.cc:1")


class Includes(Tree):
    def test_each_kind_of_forbidden_include_is_named(self):
        self.passes("includes")
        for place, include in (
                ("lib/core/deep/a.h", '#include "runtime/trainer.h"'),
                ("lib/operators/scratch/a.cc", '  #include "report/a.h"'),
                ("lib/plan/a.cc", "#include <torch/torch.h>"),
                ("lib/replay/a.cc", '#include "../core/number.h"'),
                ("lib/unheard/a.cc", "int a;"), ("tools/a.cc", "#include <CLI/CLI.hpp>")):
            self.write(place, SPDX + include + "\n")
        self.fails("includes", "lib/core/deep/a.h:2", "lib/operators/scratch/a.cc:2",
                   "lib/plan/a.cc:2", "lib/replay/a.cc:2", "unheard is not an area", "tools/a.cc:2")


class Alone(Tree):
    def test_a_header_that_does_not_compile_alone_is_named(self):
        self.need("clang++-14")
        self.passes("alone")
        for place in ("lib/operators/scratch/alone.h", "lib/replay/alone.h", "kernels/alone.h",
                      "tools/a/b/alone.h"):
            self.write(place, SPDX + "#pragma once\nstd::string alone();\n")
        self.fails("alone", "lib/operators/scratch/alone.h:3", "lib/replay/alone.h:3",
                   "kernels/alone.h:3", "tools/a/b/alone.h:3")

    def test_a_source_that_does_not_compile_alone_is_named(self):
        self.need("clang++-14")
        # In one unit with number.cc, which includes <string>, it would compile.
        self.write("lib/core/later.cc", SPDX + "std::string later();\n")
        build = self.tree / "meson.build"
        build.write_text(build.read_text().replace("'lib/core/number.cc'",
                                                   "'lib/core/number.cc', 'lib/core/later.cc'"))
        self.fails("alone", "lib/core/later.cc:2")

    def test_only_a_source_that_includes_its_header_first_proves_it(self):
        self.need("clang++-14")
        header = SPDX + "#pragma once\nstd::string proven();\n"
        self.write("lib/core/number.h", header)
        for included, named in ((("core/number.h", "string"), "number.h:3"),
                                (("string", "core/number.h"), "number.h:3")):
            self.write("lib/core/number.cc",
                       SPDX + "".join(f'#include "{name}"\n' for name in included))
            self.fails("alone", named)

    def test_what_clang_alone_warns_of_fails(self):
        self.need("clang++-14")
        self.write("lib/core/number.cc",
                   SPDX
                   + '#include "core/number.h"\n\nnamespace elixir {\nclass A {\n'
                     '  int unused_ = 0;\n};\n}\n')
        self.fails("alone", "unused_")


class Schemas(Tree):
    def test_wrong_examples_are_named(self):
        self.passes("schemas")
        self.write("schemas/examples/valid/small-2.json", '{"a": "x"}')
        self.write("schemas/examples/invalid/small-2.json", '{"a": 2}')
        self.write("schemas/examples/valid/smal.json", "{}")
        self.fails("schemas", "valid/small-2.json", "invalid/small-2.json: accepted",
                   "smal.json: no schema")

    def test_no_schemas_fail(self):
        shutil.rmtree(self.tree / "schemas")
        self.fails("schemas", "nothing was checked")


class Scripts(Tree):
    def test_broken_scripts_are_named(self):
        self.passes("scripts")
        for place in ("scripts/recording/a.sh", "tests/gpu/a.sh", ".ci/run"):
            with self.subTest(place=place):
                self.write(place, HASH_SPDX + "if true; then\n")
                self.fails("scripts", f"{place}: line ")
                self.write(place, HASH_SPDX + "true\n")
        self.write("scripts/recording/a.py", HASH_SPDX + "def broken(:\n")
        self.fails("scripts", "scripts/recording/a.py", "SyntaxError")

    def test_a_missing_licence_line_is_named(self):
        places = ("build-aux/a.py", "scripts/a/b/a.sh", "lib/operators/scratch/a.h", "kernels/a.cu")
        for place in places:
            self.write(place, "\n")
        self.fails("scripts", "no SPDX line in", *places)


class Links(Tree):
    def test_links_that_lead_nowhere_are_named(self):
        self.passes("links")
        self.write("docs/deep/a.md", "[a](../how.md#what-it-did)\n\n[b\nc](gone.md) and [web](https://example.org/x#y)\n")
        self.write("docs/b.md",
                   "```\n# Code\n[code](gone.md)\n```\n`[name](gone.md)`\n[code](#code)\n")
        code, text = self.check("links")
        self.assertEqual(code, 1, text)
        found = [line for line in text.splitlines() if ": no " in line]
        self.assertEqual(sorted(line.strip() for line in found), [
            "docs/b.md:6: no heading `#code` in docs/b.md",
            "docs/deep/a.md:1: no heading `#what-it-did` in docs/how.md",
            "docs/deep/a.md:4: no file `gone.md`",
        ])

    def test_headings_are_found_as_they_are_shown(self):
        self.write("docs/how.md",
                   "## What it does\n## `a_b`, *and* [c](../README.md): D's 2\n## Twice\n"
                   "## Twice ##\n")
        self.write("docs/a.md",
                   "[x](how.md#a_b-and-c-ds-2) [y](how.md#twice) [z](how.md#twice-1)\n")
        self.passes("links")
        self.write("docs/a.md", "[z](how.md#twice-2)\n")
        self.fails("links", "docs/a.md:1")

    def test_no_documents_fail(self):
        for path in list(self.tree.rglob("*.md")):
            path.unlink()
        self.fails("links", "nothing would be checked")


class Tidy(Tree):
    def test_findings_of_clang_tidy_are_named(self):
        self.need("clang-tidy-14", "clang++-14")
        self.passes("tidy")
        self.write("lib/core/number.cc", SPDX + '#include "core/number.h"\n\nnamespace elixir {\n'
                   'std::string number() { return std::string("1").size() == 0 ? "1" : "2"; }\n'
                   '}  // namespace elixir\n')
        self.fails("tidy", "lib/core/number.cc:5", "readability-container-size-empty")
        # A source that came after the folder was made.
        self.write("lib/core/number.cc",
                   SPDX
                   + '#include "core/number.h"\n\nnamespace elixir {\n'
                     'std::string number() { return "1"; }\n}\n')
        self.write("lib/core/deep/later.cc", SPDX + "int* later();\nint* later() { return 0; }\n")
        build = self.tree / "meson.build"
        build.write_text(build.read_text().replace(
            "'lib/core/number.cc'", "'lib/core/number.cc', 'lib/core/deep/later.cc'"))
        self.fails("tidy", "lib/core/deep/later.cc:3", "modernize-use-nullptr")


class Sanitizers(Tree):
    FAULTS = {
        "AddressSanitizer: heap-buffer-overflow":
            "std::string text(100, 'x'); shared += text.data()[100 + arguments];",
        "signed integer overflow": "shared += 2147483647;",
        # Many: the address of the last one may still be in a register or on the stack, where
        # LeakSanitizer takes it for a pointer.
        "LeakSanitizer":
            "for (int i = 0; i < 100; ++i) shared += static_cast<int>((new std::string(100, "
            "'x'))->size());",
        "ThreadSanitizer: data race":
            "std::thread other([&] { ++shared; }); ++shared; other.join();",
    }

    def test_each_kind_of_fault_is_found(self):
        self.need("clang++-14")
        # Built for tests alone: this would fail.
        self.write("tests/not_tested.cc", SPDX + "int main() { no such thing }\n")
        self.passes("sanitizers")
        for found, fault in self.FAULTS.items():
            with self.subTest(found=found):
                self.write("tests/small_test.cc", SPDX + TEST.format(fault=fault))
                self.fails("sanitizers", found)
                if found.startswith("Address"):
                    self.fails("sanitizers_torch", found)
        build = self.tree / "meson.build"
        build.write_text(build.read_text().replace(", protocol: 'gtest'", ""))
        self.fails("sanitizers_torch", "no tests in build-asan-torch")


class Arguments(Tree):
    def test_unknown_checks_are_refused_and_all_are_tested_here(self):
        self.assertEqual(self.check("formt")[0], 2)
        self.assertEqual(self.check("--list")[1].split(),
                         ["format", "columns", "includes", "alone", "schemas", "scripts", "links",
                          "tidy", "sanitizers", "sanitizers_torch"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
