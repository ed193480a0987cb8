# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Common parts of the tests that run real binaries.

    from harness import ToolTest

    class Search(ToolTest):
        tool = "ELIXIR_SEARCH"  # variable that holds the binary's path, set by meson.build

        def test_refuses_an_unknown_flag(self):
            self.fails(2, "EX0101", "--profle", "x")

Every test has an empty working directory of its own (self.directory); a run that leaves temporary
files there fails."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
Result = collections.namedtuple("Result", "code out err")


def schema(name):
    """Validator of schemas/NAME.schema.json."""
    text = (ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def clean_environment(**extra):
    """This process's environment without what changes colours and language."""
    dropped = {"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG", "TERM"}
    environment = {k: v
                   for k, v in os.environ.items()
                   if k not in dropped and not k.startswith("ELIXIR_")}
    environment.update({"LC_ALL": "C.UTF-8", "TERM": "xterm"})
    environment.update(extra)
    return environment


class ToolTest(unittest.TestCase):
    """Runs one binary. `tool` names the environment variable with its path."""

    tool = None
    timeout_s = 120

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-cli-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    @property
    def binary(self):
        path = os.environ.get(self.tool or "")
        if not path:
            self.fail(f"{self.tool} is not set; run this through meson test")
        return path

    # --- running ---

    def run_tool(self, *arguments, env=None, stdin=None, **popen):
        """(code, out, err) as text. Fails when temporary files stay behind."""
        process = subprocess.run(
            [self.binary, *map(str, arguments)],
            cwd=popen.pop("cwd", self.directory),
            env=env or clean_environment(),
            input=stdin,
            capture_output=True,
            timeout=self.timeout_s,
            **popen,
        )
        result = Result(process.returncode, process.stdout.decode("utf-8"),
                        process.stderr.decode("utf-8"))
        self.assert_no_leftovers()
        return result

    def run_in_terminal(self, *arguments, env=None):
        """(code, out) where stdin, stdout and stderr are a terminal of 80 columns (util-linux
        `script`)."""
        if not shutil.which("script"):
            self.skipTest("no `script`")
        words = " ".join("'" + str(word).replace("'", "'\\''") + "'"
                         for word in [self.binary, *arguments])
        process = subprocess.run(
            ["script", "-qec", f"stty cols 80; exec {words}", "/dev/null"],
            cwd=self.directory,
            env=env or clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self.timeout_s,
        )
        return Result(process.returncode, process.stdout.decode("utf-8").replace("\r\n", "\n"), "")

    def start(self, *arguments, env=None):
        """A running process, for signals; always ended."""
        process = subprocess.Popen(
            [self.binary, *map(str, arguments)],
            cwd=self.directory,
            env=env or clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    # --- what must hold ---

    def assert_no_leftovers(self):
        left = [str(p) for p in self.directory.rglob("*") if re.search(r"\.tmp-\d+-\d+$", p.name)]
        self.assertEqual(left, [], "temporary files left behind")

    def files(self):
        return sorted(str(p.relative_to(self.directory)) for p in self.directory.rglob("*")
                      if p.is_file())

    def succeeds(self, *arguments, code=0, **options):
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.code, code, result.err)
        return result

    def envelope(self, *arguments, code=0, **options):
        """The JSON result of a run with --json: one valid document on stdout that agrees with the
        exit code."""
        result = self.run_tool("--json", *arguments, **options)
        self.assertEqual(result.code, code, result.err)
        document = json.loads(result.out)
        schema("result").validate(document)
        self.assertEqual(document["exit_code"], code)
        self.assertTrue(result.out.endswith("}\n"))
        return document

    def fails(self, code, error, *arguments, mentions=(), **options):
        """Exactly one error `error` (EXnnnn) on stderr, exit code `code`, nothing on stdout, no new
        file; the same with --json. Returns stderr."""
        before = self.files()
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(re.findall(r"^error\[(EX\d{4})\]: ", result.err, re.MULTILINE), [error],
                         result.err)
        self.assertEqual(result.out, "")
        for text in [mentions] if isinstance(mentions, str) else mentions:
            self.assertIn(text, result.err)
        document = self.envelope(*arguments, code=code, **options)
        errors = [d["code"] for d in document["diagnostics"] if d["severity"] == "error"]
        self.assertEqual(errors, [error])
        self.assertEqual(self.files(), before, "a failed run left files")
        return result.err

    def mapped_libraries(self, *arguments):
        """Names of the shared libraries that the dynamic linker loads for a run."""
        environment = clean_environment(LD_DEBUG="files")
        process = subprocess.run(
            [self.binary, *map(str, arguments)], cwd=self.directory, env=environment,
            capture_output=True, timeout=self.timeout_s
        )
        text = process.stderr.decode("utf-8", "replace")
        return {os.path.basename(path) for path in re.findall(r"calling init: (\S+)", text)}


class CommonBehaviour:
    """What every tool must do alike; mix into a ToolTest."""

    def test_help_has_examples_first_and_names_exit_codes(self):
        text = self.succeeds("--help").out
        self.assertTrue(text.startswith("Usage: elixir-") or text.startswith("Usage: example-"),
                        text[:80])
        headings = re.findall(r"^([A-Z][A-Za-z ]+):$", text, re.MULTILINE)
        self.assertEqual(headings[0], "Examples")
        self.assertEqual(headings[-2:], ["Common", "Exit status"])
        self.assertEqual([line for line in text.splitlines() if len(line) > 100], [])

    def test_short_help_is_short(self):
        text = self.succeeds("-h").out
        flags = re.findall(r"^  (?:-\w, |    )--", text, re.MULTILINE)
        self.assertLessEqual(len(flags), 8, text)
        self.assertLess(len(text), len(self.succeeds("--help").out))

    def test_help_needs_no_other_argument_and_no_stderr(self):
        for flag in ("--help", "-h", "--version"):
            self.assertEqual(self.succeeds(flag).err, "")

    def test_version_names_the_compiler(self):
        self.assertRegex(self.succeeds("--version").out,
                         r"\A\S+ \d+\.\d+\.\d+\ncompiler +(g\+\+|clang) ")
        document = self.envelope("--version")["document"]
        self.assertIn("compiler", document["built_with"])

    def test_every_flag_that_names_a_file_says_what_becomes_of_it(self):
        """No output may be an input: that is checked for the flags that say which they are."""
        rows = self.envelope("--flag-table")["document"]["flags"]
        for row in rows:
            if (row["name"] == "--output"
                or not re.search(r"FILE|PATH|RUN_DIR|OUT\b|\.json|\.pt|PROFILE|HARDWARE|^H$",
                                 row["value"] or "")):
                continue
            self.assertIn(row["file"], ("read", "written"), row["name"])

    def test_unknown_flag_is_a_usage_error_with_a_suggestion(self):
        self.fails(2, "EX0101", "--verson", mentions="did you mean `--version`?")
        self.fails(2, "EX0101", "--nothing-like-it", mentions="--help")

    def test_bad_colour_lists_the_choices(self):
        self.fails(2, "EX0102", "--color", "sometimes", mentions="`always`")

    def test_quiet_and_verbose_exclude_each_other(self):
        self.fails(2, "EX0104", "-q", "-v")

    def test_full_device_on_stdout_is_disk_full(self):
        with open("/dev/full", "wb") as full:
            process = subprocess.run(
                [self.binary, "--help"], stdout=full, stderr=subprocess.PIPE,
                env=clean_environment(), timeout=60
            )
        self.assertEqual(process.returncode, 4)
        self.assertIn(b"error[EX0702]", process.stderr)


if __name__ == "__main__":
    sys.exit("harness.py has no tests")
