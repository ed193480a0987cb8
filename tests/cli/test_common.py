# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Flags, streams, colours, diagnostics, exit codes and signals that all tools share, on
example_tool.cc."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from harness import CommonBehaviour, ToolTest, clean_environment


class ExampleTest(ToolTest):
    tool = "EXAMPLE_TOOL"

    def do(self, what, *arguments, **options):
        return self.run_tool("--profile", "x", "--do", what, *arguments, **options)

    def values(self, *arguments):
        return self.envelope("--profile", "x", "--do", "values", *arguments)["document"]

    def refuses(self, error, *arguments, mentions=()):
        return self.fails(2, error, "--profile", "x", "--do", "values", *arguments,
                          mentions=mentions)


class Common(CommonBehaviour, ExampleTest):
    pass


class FlagValues(ExampleTest):
    def test_defaults_are_kept_and_told_from_choices(self):
        values = self.values()
        self.assertEqual(values["steps"], 10)
        self.assertEqual(values["gpu_memory_bytes"], -1)
        self.assertFalse(values["steps_given"])
        self.assertTrue(self.values("--steps", "10")["steps_given"])

    def test_both_ways_to_give_a_value(self):
        self.assertEqual(self.values("--steps=7")["steps"], 7)
        self.assertEqual(self.values("--steps", "7")["steps"], 7)

    def test_sizes_have_units(self):
        self.assertEqual(self.values("--gpu-memory", "1.5GiB")["gpu_memory_bytes"], 1610612736)
        self.assertEqual(self.values("--gpu-memory", "80 GB")["gpu_memory_bytes"], 80 * 10**9)
        self.refuses("EX0102", "--gpu-memory", "80G", mentions=["80GiB (1024)", "80GB (1000)"])
        self.refuses("EX0102", "--gpu-memory", "k", mentions="a size such as")
        self.refuses("EX0102", "--gpu-memory", "-1GiB")
        self.refuses("EX0102", "--gpu-memory", "lots")

    def test_integers_are_decimal_and_in_range(self):
        self.assertEqual(self.values("--steps", "010")["steps"], 10)
        for text in ("0", "-1", "3.5", "1e3", "abc", "0x10", "1000001", "99999999999999999999",
                     " 5", "5 "):
            self.refuses("EX0102", "--steps", text, mentions="an integer from 1 to 1000000")

    def test_numbers_are_finite_and_in_range(self):
        self.assertEqual(self.values("--lr", "3e-4")["lr"], 3e-4)
        for text in ("0", "-1", "nan", "inf", "1e999", "1,5", ""):
            self.refuses("EX0102", "--lr", text, mentions="a number above 0" if text else ())

    def test_number_lists_have_a_fixed_length(self):
        self.assertEqual(self.values("--betas", "0.8,0.95")["betas"], [0.8, 0.95])
        for text in ("0.9", "0.9,1", "0.9,0.99,0.999", "0.9,", ",0.9"):
            self.refuses("EX0102", "--betas", text, mentions="2 values")

    def test_integer_lists_and_ranges(self):
        for text, expected in {
            "4": [4],
            "1,2,4": [1, 2, 4],
            "1-4": [1, 2, 3, 4],
            "1-9+4": [1, 5, 9],
            "1-64*4": [1, 4, 16, 64],
            "2,8-10": [2, 8, 9, 10],
            "9223372036854775807-9223372036854775807": [2**63 - 1],
        }.items():
            self.assertEqual(self.values("--batch", text)["batch"], expected, text)
        for text in ("0", "1,,2", "1-8*1", "1-8+0", "1-", "-3", "a", "1-2-3", "0-4*2"):
            self.refuses("EX0102", "--batch", text, mentions="a list such as")
        self.refuses("EX0102", "--batch", "4-1", mentions="from the smaller number to the larger")
        for text in ("1-65537", "1-100000", "1-65536,1"):
            self.refuses("EX0102", "--batch", text, mentions="at most 65,536 values")
        self.assertEqual(len(self.values("--batch", "1-65536")["batch"]), 65536)

    def test_choices_are_listed_and_suggested(self):
        self.assertEqual(self.values("--strategy", "elixir")["strategy"], "elixir")
        self.refuses("EX0102", "--strategy", "elxir",
                     mentions=["did you mean `elixir`?", "`optimal`, `simple`"])

    def test_repeatable_flags_take_one_value_each_and_keep_brackets(self):
        values = self.values("--input", "ids:int64[2,128]", "--input", "[x]", "--input='q'")
        self.assertEqual(values["inputs"], ["ids:int64[2,128]", "[x]", "'q'"])

    def test_negative_numbers_are_values_not_flags(self):
        self.refuses("EX0102", "--steps", "-5", mentions="`-5` is not a value for `--steps`")


class Usage(ExampleTest):
    def test_suggests_the_nearest_flag(self):
        self.refuses("EX0101", "--stps", "3",
                     mentions=["unknown flag `--stps`", "did you mean `--steps`?"])
        self.refuses("EX0101", "--stps=3", mentions="unknown flag `--stps`\n")
        self.refuses("EX0101", "-x", mentions="a word that is none goes after `--`")

    def test_flags_are_never_abbreviated(self):
        self.refuses("EX0101", "--strat", "simple")

    def test_missing_values_are_noticed(self):
        for words in (["--steps"], ["--steps", "--dry-run"], ["--steps="], ["--steps", "-q"],
                      ["-o"], ["--steps", "--"]):
            self.refuses("EX0102", *words, mentions="needs a value")

    def test_a_letter_takes_no_equals_sign(self):
        self.refuses("EX0102", "-o=plan.json", mentions="write -o plan.json, or --output=plan.json")

    def test_toggles_take_no_value(self):
        self.refuses("EX0102", "--dry-run=yes", mentions="takes no value")

    def test_stray_words_are_refused(self):
        self.refuses("EX0105", "plan.json", mentions="`plan.json`")
        # By the name of another program, and by a part of the name.
        self.refuses("EX0101", "--max-steps", "3", mentions="did you mean `--steps`?")
        self.refuses("EX0101", "--steps-per-epoch", "3", mentions="did you mean `--steps`?")
        self.refuses("EX0105", "stepss", mentions="did you mean `--steps`?")
        self.refuses("EX0105", "--", "--steps")

    def test_a_value_given_twice_is_refused(self):
        self.refuses("EX0104", "--steps", "3", "--steps", "3", mentions="given 2 times")

    def test_exclusive_flags(self):
        self.refuses("EX0104", "--gpu-memory", "1GiB", "--host-memory", "1GiB")

    def test_required_flags(self):
        self.fails(2, "EX0103", "--steps", "3", mentions="`--profile FILE` is missing")

    def test_letters_combine(self):
        result = self.succeeds("--profile", "x", "--do", "write", "-qo", "y")
        self.assertEqual(self.files(), ["y"])
        self.assertEqual(result.out, "written\n")

    def test_flag_table_describes_every_flag(self):
        result = json.loads(self.run_tool("--flag-table").out)["document"]
        rows = {row["name"]: row for row in result["flags"]}
        self.assertEqual(rows["--output"]["letter"], "-o")
        self.assertEqual(rows["--steps"]["default"], "10")
        self.assertTrue(rows["--profile"]["required"])
        self.assertIsNone(rows["--dry-run"]["value"])
        self.assertNotIn("--do", rows)
        help_text = self.run_tool("--help").out
        for name in rows:
            self.assertIn(name, help_text)


class Streams(ExampleTest):
    def test_results_on_stdout_messages_on_stderr(self):
        result = self.do("print")
        self.assertEqual(result.out, "a result\n")
        self.assertEqual(
            result.err,
            "info: some information\nwarning: the GPU is warm: 85 °C → slow\n  = help: cool it\n",
        )

    def test_quiet_leaves_the_result(self):
        self.assertEqual(self.do("print", "-q"), (0, "a result\n", ""))

    def test_verbose_shows_details(self):
        self.assertRegex(self.do("print", "-v").err, r"(?m)^\d\d:\d\d:\d\d\.\d+ verbose: details$")

    def test_json_is_one_document_with_the_warnings(self):
        document = self.envelope("--profile", "x", "--do", "print")
        self.assertEqual(document["status"], "ok")
        self.assertEqual([d["severity"] for d in document["diagnostics"]], ["warning"])
        self.assertIsNone(document["document"])

    def test_ascii_locale_gets_ascii(self):
        for locale in ({"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}):
            error = self.do("print", env=clean_environment(**locale)).err
            self.assertIn("85 ?C -> slow", error)

    def test_hostile_text_cannot_steer_the_terminal(self):
        error = self.fails(2, "EX0201", "--profile", "x", "--do", "hostile")
        self.assertEqual(error, "error[EX0201]: \\x1b[2J?\\x0d\\x07\n")

    def test_a_reader_that_goes_away_is_no_failure(self):
        process = subprocess.Popen(
            [self.binary, "--profile", "x", "--do", "much"],
            cwd=self.directory, env=clean_environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(error, b"")
        self.assertEqual(self.files(), ["out.txt"])

    def test_a_full_stdout_is_an_error(self):
        for arguments in (["--do", "print"], ["--do", "print", "--json"]):
            with open("/dev/full", "wb") as full:
                process = subprocess.run(
                    [self.binary, "--profile", "x", *arguments], stdout=full,
                    stderr=subprocess.PIPE, timeout=60, env=clean_environment(),
                )
            self.assertEqual(process.returncode, 4, arguments)
            self.assertIn(b"error[EX0702]", process.stderr)

    def test_closed_stdout_and_stderr_do_not_crash(self):
        script = f"'{self.binary}' --profile x --do no >&- 2>&-"
        self.assertIn(subprocess.run(["sh", "-c", script], env=clean_environment()).returncode,
                      (1, 4))


class Colours(ExampleTest):
    RED = "\x1b[1;31m"

    def coloured(self, *arguments, terminal=False, **environment):
        run = self.run_in_terminal if terminal else self.run_tool
        result = run("--nothing", *arguments, env=clean_environment(**environment))
        self.assertEqual(result.code, 2)
        return self.RED in result.out + result.err

    def test_pipes_have_none_and_terminals_have_some(self):
        self.assertFalse(self.coloured())
        self.assertTrue(self.coloured(terminal=True))

    def test_dumb_terminals_have_none(self):
        self.assertFalse(self.coloured(terminal=True, TERM="dumb"))

    def test_the_flag_wins_even_when_the_command_line_is_wrong(self):
        self.assertTrue(self.coloured("--color", "always", NO_COLOR="1"))
        self.assertTrue(self.coloured("--color=always"))
        self.assertFalse(self.coloured("--color=never", terminal=True, FORCE_COLOR="1"))

    def test_environment_in_order(self):
        self.assertTrue(self.coloured(FORCE_COLOR="1", NO_COLOR="1"))
        self.assertFalse(self.coloured(terminal=True, NO_COLOR="1", CLICOLOR_FORCE="1"))
        self.assertTrue(self.coloured(terminal=True, NO_COLOR=""))
        self.assertTrue(self.coloured(CLICOLOR_FORCE="1"))
        self.assertFalse(self.coloured(CLICOLOR_FORCE="0"))

    def test_json_has_none(self):
        result = self.run_tool("--profile", "x", "--do", "bug", "--json", "--color", "always")
        self.assertNotIn("\x1b", result.out)
        self.assertIn(self.RED, result.err)


class Progress(ExampleTest):
    def test_a_pipe_gets_one_line_per_tenth(self):
        lines = self.do("progress").err.splitlines()
        self.assertEqual(len(lines), 12)
        self.assertEqual(lines[0], "  0 % working")
        self.assertEqual(lines[10], "100 % working")
        self.assertEqual(lines[11], "info: done")

    def test_a_terminal_gets_one_line_that_goes_away(self):
        result = self.run_in_terminal("--profile", "x", "--do", "progress")
        self.assertIn("\r100 % working\x1b[K\r\x1b[K", result.out)
        self.assertRegex(result.out,
                         "\r\x1b\\[K(\x1b\\[[0-9;]*m)?info(\x1b\\[[0-9;]*m)?: done\nresult\n$")
        self.assertEqual(result.out.count("\n"), 2)

    def test_off_when_quiet_refused_or_with_json_in_a_pipe(self):
        for arguments in (["-q"], ["--no-progress"], ["--json"]):
            self.assertNotIn("working", self.do("progress", *arguments).err)

    def test_hints_are_for_terminals(self):
        self.assertNotIn("next:", self.do("print").err)
        self.assertIn("next: nothing", self.run_in_terminal("--profile", "x", "--do", "print").out)
        self.assertNotIn("next:", self.run_in_terminal("--profile", "x", "--do", "print", "-q").out)


class ExitCodes(ExampleTest):
    def test_no_is_one(self):
        result = self.do("no")
        self.assertEqual((result.code, result.out, result.err), (1, "no feasible plan\n", ""))
        document = self.envelope("--profile", "x", "--do", "no", code=1)
        self.assertEqual(document["status"], "no")
        self.assertEqual(document["document"], {"binding_limit": "gpu_memory"})

    def test_environment_is_three(self):
        self.fails(3, "EX0601", "--profile", "x", "--do", "gpu", mentions="--device cpu")

    def test_out_of_memory_is_four(self):
        self.fails(4, "EX0701", "--profile", "x", "--do", "memory")

    def test_bugs_are_seventy_and_say_how_to_report(self):
        for what in ("bug", "exception", "odd"):
            self.fails(70, "EX0901", "--profile", "x", "--do", what, mentions="please report it")


class Output(ExampleTest):
    def write(self, *arguments):
        return ["--profile", "x", "--do", "write", *arguments]

    def test_default_and_chosen_place(self):
        self.succeeds(*self.write())
        self.succeeds(*self.write("-o", "y"))
        self.assertEqual(self.files(), ["out.txt", "y"])

    def test_existing_output_needs_force(self):
        (self.directory / "out.txt").write_text("old", encoding="utf-8")
        self.fails(2, "EX0203", *self.write(), mentions="--force")
        self.assertEqual((self.directory / "out.txt").read_text(encoding="utf-8"), "old")
        self.succeeds(*self.write("--force"))
        self.assertEqual((self.directory / "out.txt").read_text(encoding="utf-8"), "content\n")

    def refuses_the_input(self, profile, *arguments, mentions, do="write twice"):
        content = {path: path.read_bytes() for path in self.directory.rglob("*") if path.is_file()}
        self.fails(2, "EX0104", "--profile", profile, "--do", do, "--force", *arguments,
                   mentions=mentions)
        self.assertEqual({path: path.read_bytes() for path in content}, content)

    def test_an_output_is_no_input_however_it_is_spelled(self):
        (self.directory / "deep").mkdir()
        (self.directory / "in.json").write_text("precious", encoding="utf-8")
        (self.directory / "link.json").symlink_to("in.json")
        (self.directory / "deep/chain").symlink_to("../link.json")
        os.link(self.directory / "in.json", self.directory / "hard.json")
        (self.directory / "here").symlink_to(".")
        names = ["in.json", "./in.json", "deep/../in.json", str(self.directory / "in.json"),
                 "link.json", "deep/chain", "hard.json", "here/in.json"]
        for name in names:
            self.refuses_the_input("in.json", "-o", name,
                                   mentions=["-o would replace", "--profile reads", "in.json"])
            self.refuses_the_input(name, "-o", "in.json", mentions="-o would replace")
            self.refuses_the_input("in.json", "--page", name, mentions="--page would replace")

    def test_without_force_the_input_is_named_and_not_force(self):
        (self.directory / "in.json").write_text("precious", encoding="utf-8")
        error = self.fails(2, "EX0104", "--profile", "in.json", "--do", "write", "-o", "in.json")
        self.assertNotIn("--force", error)

    def test_the_default_output_is_no_input_either(self):
        (self.directory / "out.txt").write_text("precious", encoding="utf-8")
        self.refuses_the_input("out.txt",
                               mentions="-o would replace `out.txt`, which --profile reads")

    def test_two_outputs_are_two_files(self):
        (self.directory / "deep").mkdir()
        (self.directory / "link").symlink_to("deep")
        for page, output in (("x", "x"), ("x", "./x"), ("deep/x", "link/x"), ("out.txt", None)):
            arguments = ["--page", page] + (["-o", output] if output else [])
            self.fails(2, "EX0104", "--profile", "p", "--do", "write twice", *arguments,
                       mentions=["--page and -o name the same file"])
        self.succeeds("--profile", "p", "--do", "write twice", "--page", "x", "-o", "deep/x")

    def test_a_replaced_directory_holds_no_input(self):
        (self.directory / "run/deep").mkdir(parents=True)
        (self.directory / "run/deep/in.json").write_text("precious", encoding="utf-8")
        (self.directory / "link.json").symlink_to("run/deep/in.json")
        for name in ("run/deep/in.json", "link.json"):
            self.refuses_the_input(name, "-o", "run", do="replace directory",
                                   mentions=["-o would remove `run`"])
        self.fails(2, "EX0104", "--profile", "p", "--do", "replace directory", "-o", "run",
                   "--page", "run/page")
        (self.directory / "runs.json").write_text("beside it", encoding="utf-8")
        self.succeeds("--profile", "runs.json", "--do", "replace directory", "-o", "run")

    def test_devices_may_be_read_and_written(self):
        self.succeeds("--profile", "/dev/null", "--do", "write twice", "-o", "/dev/null", "--page",
                      "/dev/null")

    def test_dash_is_stdout_and_the_text_moves_to_stderr(self):
        self.assertEqual(self.succeeds(*self.write("-o", "-")), (0, "content\n", "written\n"))
        self.assertEqual(self.succeeds(*self.write("-o", "/dev/stdout")),
                         (0, "content\n", "written\n"))
        self.assertEqual(self.files(), [])
        result = self.run_tool(*self.write("-o", "-", "--json"))
        self.assertEqual(result.code, 2)
        self.assertEqual(json.loads(result.out)["diagnostics"][0]["code"], "EX0104")

    def test_missing_or_impossible_directories(self):
        self.fails(2, "EX0204", *self.write("-o", "no/such/y"), mentions="mkdir -p")
        self.fails(2, "EX0204", *self.write("-o", "."))
        self.fails(2, "EX0204", *self.write("-o", "/proc/y"))

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_directories_without_permission(self):
        self.directory.chmod(0o500)
        self.fails(2, "EX0204", *self.write())

    def test_full_disk_leaves_nothing(self):
        self.fails(4, "EX0702", *self.write("-o", "/dev/full"))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))
        result = self.run_tool(*self.write(), preexec_fn=limit)
        self.assertEqual(result.code, 4)
        self.assertIn("error[EX0702]", result.err)
        self.assertEqual(self.files(), [])


class Signals(ExampleTest):
    def started(self, what, *arguments):
        process = self.start("--profile", "x", "--do", what, *arguments)
        deadline = time.monotonic() + 30
        while not list(self.directory.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(len(list(self.directory.iterdir())), 1, "the tool writes a temporary file")
        return process

    def test_first_signal_ends_gracefully(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.started("wait")
            process.send_signal(number)
            out, error = process.communicate(timeout=30)
            self.assertEqual(process.returncode, code)
            self.assertIn(b"interrupted", error)
            self.assertNotIn(b"error[", error)
            self.assertEqual(list(self.directory.iterdir()), [])

    def test_json_says_so(self):
        process = self.started("wait", "--json")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        document = json.loads(out)
        self.assertEqual((document["status"], document["exit_code"]), ("error", 130))

    def test_work_that_does_not_listen_ends_all_the_same(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.started("hang", "--json")
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=5), code)
            document = json.loads(process.stdout.read())
            self.assertEqual((document["status"], document["exit_code"]), ("error", code))
            self.assertEqual(list(self.directory.iterdir()), [])

    def test_work_that_finishes_first_is_left_to_it(self):
        process = self.started("finish")
        process.send_signal(signal.SIGTERM)
        time.sleep(2.5)  # beyond the grace of other work
        self.assertIsNone(process.poll())
        self.assertEqual(process.wait(timeout=30), 143)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out.txt"])

    def test_second_signal_ends_at_once_without_partial_files(self):
        process = self.started("finish")
        process.send_signal(signal.SIGINT)
        process.stderr.readline()
        time.sleep(0.2)
        self.assertIsNone(process.poll(), "one signal must not end work that finishes first")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=2), 130)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_signals_ignored_by_the_parent_stay_ignored(self):
        process = subprocess.Popen(
            [self.binary, "--profile", "x", "--do", "wait"],
            cwd=self.directory, env=clean_environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
        self.addCleanup(self._end_detached, process)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 143)

    @staticmethod
    def _end_detached(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
