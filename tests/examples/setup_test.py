# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/setup.sh: what it would build, download and say, with pip, Meson, ninja and the system's
tools replaced by scripts that write down how they were called. Usage: setup_test.py BUILD NINJA
MESON (a configured build folder)"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, NINJA, MESON_COMMAND = pathlib.Path(sys.argv[1]), *sys.argv[2:]
ROOT = pathlib.Path(__file__).resolve().parents[2]

# Stands for Python, in the folder of tools and in the .venv that it makes.
PYTHON = """\
#!/bin/bash
echo "python $*" >>"$CALLS"
case "$*" in
  "-m venv "*)
    mkdir -p "$3/bin" "$3/lib"
    for tool in python3 meson ninja; do cp "$STUBS/$tool" "$3/bin/"; done ;;
  *"--extra-index-url"*) exit "${CPU_INDEX_FAILS:-0}" ;;
esac
"""
MESON = """\
#!/bin/bash
echo "meson $*" >>"$CALLS"
[ "$1" = setup ] && mkdir -p "$2" && touch "$2/build.ninja"
exit 0
"""
NINJA_STUB = """\
#!/bin/bash
echo "ninja $*" >>"$CALLS"
case " $* " in *" -n "*) echo "[1/1] Linking" ;; esac
"""
NO_GPU, ONE_GPU = "exit 9", "echo 'GPU 0: NVIDIA'"


class SetUp(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="elixir-setup-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.tree, self.stubs = self.top / "tree", self.top / "stubs"
        self.calls = self.top / "calls"
        for path in ("examples/setup.sh", "build-aux/requirements.txt",
                     "build-aux/requirements-gpu.txt"):
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, self.tree / path)
        self.stub("python3", PYTHON)
        self.stub("meson", MESON)
        self.stub("ninja", NINJA_STUB)
        for name, text in (("g++", "echo 12"), ("pkg-config", "exit 0"), ("apt-get", "exit 1"),
                           ("nvcc", "exit 1"), ("df", "echo; echo x x x 99999999 x x"),
                           ("nvidia-smi", NO_GPU)):
            self.stub(name, "#!/bin/bash\n" + text + "\n")

    def stub(self, name, text):
        self.stubs.mkdir(exist_ok=True)
        path = self.stubs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_setup(self, *arguments, code=0, **environment):
        """(what it said, how the tools were called)."""
        self.calls.write_text("")
        result = subprocess.run(
            ["bash", self.tree / "examples/setup.sh", *arguments], capture_output=True, text=True,
            timeout=60,
            env={"PATH": f"{self.stubs}:/usr/bin:/bin", "HOME": str(self.top),
                 "CALLS": str(self.calls), "STUBS": str(self.stubs), **environment},
        )
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stderr, self.calls.read_text().splitlines()

    def pip_calls(self, calls):
        return [call for call in calls if " pip install " in call]

    def test_every_installed_program_is_built(self):
        _, calls = self.run_setup()
        self.assertEqual([c for c in calls if c.startswith("ninja") and " -n " not in c
                          and c.endswith(" elixir-tools")], [calls[-1]])
        # What that target stands for in a real build: the programs of tools/, those with two dashes
        # too.
        listed = subprocess.run([NINJA, "-C", BUILD, "-t", "query", "elixir-tools"],
                                capture_output=True, text=True, check=True).stdout
        inputs = {line.split()[-1] for line in listed.splitlines() if line.startswith("    ")}
        every = subprocess.run([NINJA, "-C", BUILD, "-t", "targets", "all"], capture_output=True,
                               text=True, check=True).stdout
        programs = {line.split(":")[0] for line in every.splitlines() if ": cpp_LINKER" in line
                    and line.startswith("tools/elixir-")}
        programs = {name for name in programs if "." not in pathlib.Path(name).name}
        self.assertIn("tools/elixir-search", programs)
        self.assertEqual("tools/elixir-measure-step" in programs, "tools/elixir-train" in programs)
        self.assertEqual(inputs & programs, programs)

    def test_tests_are_built_when_asked_for(self):
        self.assertTrue(self.run_setup("--tests")[1][-1].endswith(" all meson-test-prereq"))

    def test_a_machine_without_a_gpu_is_told_beforehand_what_cuda_costs(self):
        said, calls = self.run_setup()
        self.assertIn("no NVIDIA GPU here", said)
        self.assertIn("3.3 GB on disk", said)
        self.assertIn("setup.sh --cpu", said)
        self.assertEqual(len(self.pip_calls(calls)), 1)
        self.assertNotIn("index-url", self.pip_calls(calls)[0])

    def test_a_machine_with_a_gpu_is_not(self):
        self.stub("nvidia-smi", "#!/bin/bash\n" + ONE_GPU + "\n")
        self.assertNotIn("--cpu", self.run_setup()[0])

    def test_cpu_takes_the_cpu_build_and_stays(self):
        self.stub("nvidia-smi", "#!/bin/bash\n" + ONE_GPU + "\n")
        said, calls = self.run_setup("--cpu")
        self.assertIn("without CUDA", said)
        self.assertEqual(len(self.pip_calls(calls)), 1)
        self.assertRegex(self.pip_calls(calls)[0],
                         r"torch==[\d.]+\+cpu torchvision==[\d.]+\+cpu -r \S+requirements.txt$")
        self.assertTrue(any(c.startswith("meson setup") and "-Dcuda=disabled" in c.split()
                            for c in calls), calls)
        for again in ((), ("--cpu",), ("--tests",)):
            calls = self.run_setup(*again)[1]
            self.assertEqual(self.pip_calls(calls), [])
            self.assertFalse(any(c.startswith("meson") for c in calls), calls)

    def test_kernels_are_built_for_the_gpus_of_the_machine(self):
        self.stub("nvidia-smi",
                  f"#!/bin/bash\ncase $1 in -L) {ONE_GPU} ;; *) printf '9.0\\n8.0\\n9.0\\n' ;; "
                  f"esac\n")
        calls = self.run_setup()[1]
        self.assertTrue(any(c.startswith("meson setup") and "-Dgpu_architectures=80,90" in c.split()
                            for c in calls), calls)

    def test_without_a_gpu_kernels_are_built_for_all_unless_for_tests_alone(self):
        calls = self.run_setup()[1]
        self.assertTrue(any(c.startswith("meson setup") for c in calls), calls)
        self.assertFalse(any("gpu_architectures" in c for c in calls), calls)
        shutil.rmtree(self.tree / "build")
        calls = self.run_setup("--tests")[1]
        self.assertTrue(any(c.startswith("meson setup") and "-Dgpu_architectures=90" in c.split()
                            for c in calls), calls)

    def test_without_the_index_of_cpu_builds_the_cuda_libraries_are_left_out(self):
        said, calls = self.run_setup("--cpu", CPU_INDEX_FAILS="1")
        self.assertIn("Python cannot import such a torch", said)
        rest, torch = self.pip_calls(calls)[1:]
        self.assertTrue(rest.endswith("cuda-toolkit[cudart,cupti]==13.0.2"), rest)
        self.assertRegex(torch, r"--no-deps torch==[\d.]+$")
        listed = (self.tree / ".venv/requirements.txt").read_text()
        self.assertIn("meson==", listed)
        self.assertNotIn("torch==", listed)
        self.assertNotIn("torchvision", listed)

    def test_an_environment_with_cuda_is_not_made_one_without(self):
        self.run_setup()
        (self.tree / ".venv/lib/python3.11/site-packages/torch").mkdir(parents=True)
        said, calls = self.run_setup("--cpu", code=3)
        self.assertIn("rm -r", said)
        self.assertEqual(self.pip_calls(calls), [])


class WheelWithoutCuda(unittest.TestCase):
    def test_the_build_can_be_configured(self):
        """LibTorch's CPU build has no wheels of CUDA and NCCL beside it."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            shutil.copytree(ROOT / "build-aux/torch", tree / "torch")
            (tree / "site/torch").mkdir(parents=True)
            (tree / "site/torch/__init__.py").write_text("")
            (tree / "site/torch/version.py").write_text("__version__ = '2.11.0+cpu'\n")
            (tree / "meson_options.txt").write_text(
                "option('cuda', type: 'feature', value: 'disabled')\n")
            (tree / "meson.build").write_text(
                "project('small', 'cpp')\nfs = import('fs')\nhave_cuda = false\n"
                "python = find_program('python3')\nsubdir('torch')\n")
            result = subprocess.run([MESON_COMMAND, "setup", "build"], cwd=tree,
                                    capture_output=True, text=True,
                                    env={**os.environ, "PYTHONPATH": str(tree / "site")})
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
