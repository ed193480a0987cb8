# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train where something else starts the ranks, as torchrun and SLURM do: on this machine,
and on two "hosts" that are network namespaces of the test's own (that needs root; it is skipped
elsewhere)."""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import test_ranks
from harness import clean_environment, schema
from ports import free_port
from test_ranks import is_alive, parameters
from training import TrainTest, lines_in

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_", "SLURM_",
             "TORCHELASTIC_")


class Hosts:
    """Two network namespaces with a cable between them: hosts a (10.77.0.1) and b (10.77.0.2)."""

    addresses = {"a": "10.77.0.1", "b": "10.77.0.2"}

    def __init__(self):
        self.names = {host: f"elixir-{os.getpid()}-{host}" for host in "ab"}
        self.links = {host: f"ex{os.getpid()}{host}" for host in "ab"}

    @staticmethod
    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True, timeout=20).returncode == 0

    def make(self):
        """Whether this machine allows it."""
        if not (shutil.which("ip") and shutil.which("unshare") and os.geteuid() == 0):
            return False
        made = all(self.ip("netns", "add", name) for name in self.names.values())
        made = (made and self.ip("link", "add", self.links["a"], "type", "veth", "peer", "name",
                                 self.links["b"]))
        for host in "ab":
            name, link = self.names[host], self.links[host]
            made = made and self.ip("link", "set", link, "netns", name)
            made = (made and self.ip("-n", name, "addr", "add", f"{self.addresses[host]}/24", "dev",
                                     link))
            made = (made and self.ip("-n", name, "link", "set", link, "up")
                    and self.ip("-n", name, "link", "set", "lo", "up"))
        return (made
                and subprocess.run([*self.enter("a"), "true"], capture_output=True).returncode == 0)

    def enter(self, host):
        """What a command on this host begins with."""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'hostname host-{host} && exec "$@"', "-"]

    def unplug(self):
        self.ip("-n", self.names["b"], "link", "set", self.links["b"], "down")

    def plug(self):
        self.ip("-n", self.names["b"], "link", "set", self.links["b"], "up")

    def remove(self):
        for name in self.names.values():
            self.ip("netns", "del", name)


class StartedTest(TrainTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        test_ranks.plans()

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.ranks = []

    def torchrun(self, rank, world, **more):
        """What torchrun sets, here for all ranks on one host."""
        variables = {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank,
                     "LOCAL_WORLD_SIZE": world, "MASTER_ADDR": "localhost",
                     "MASTER_PORT": self.port}
        variables.update(more)
        return {name: str(value) for name, value in variables.items() if value is not None}

    def start_rank(self, variables, *flags, command=(), **environment):
        said = tempfile.TemporaryFile()
        self.addCleanup(said.close)
        clean = {k: v
                 for k, v in clean_environment(OMP_NUM_THREADS="1").items()
                 if not k.startswith(LAUNCHERS)}
        process = subprocess.Popen(
            [*command, self.binary, *map(str, flags)], cwd=self.directory,
            env={**clean, **variables, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=said,
        )
        process.said = said
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.ranks.append(process)
        return process

    def end(self, process, timeout=60):
        """(exit code, what it said)."""
        code = process.wait(timeout)
        process.said.seek(0)
        return code, process.said.read().decode()

    def all_end(self, code, *mentions, timeout=60):
        """Every rank ends with this code, and says all of this."""
        for rank, process in enumerate(self.ranks):
            got, said = self.end(process, timeout)
            self.assertEqual(got, code, (rank, said))
            self.assertEqual(said.count("error["), 0 if code == 0 else 1, said)
            for mention in mentions:
                self.assertIn(mention, said, rank)

    def await_steps(self, count, run="run"):
        metrics = self.directory / run / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while lines_in(metrics) < count and time.monotonic() < deadline:
            for process in self.ranks:
                self.assertIsNone(process.poll(), "a rank ended by itself")
            time.sleep(0.005)


class OneHost(StartedTest):
    def test_bits_are_those_of_ranks_that_elixir_train_starts(self):
        alone = self.exported(*self.flags("roomy-2", output="alone"), name="alone.safetensors")
        for rank in range(2):
            self.start_rank(self.torchrun(rank, 2),
                            *self.flags("roomy-2", export="met.safetensors"))
        self.all_end(0)
        self.assertEqual((self.directory / "met.safetensors").read_bytes(), alone)

    def test_slurm_says_which_rank_a_process_is(self):
        for rank in range(2):
            variables = {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": 2, "SLURM_LOCALID": rank,
                         "SLURM_NODEID": 0, "SLURM_STEP_TASKS_PER_NODE": 2,
                         "SLURM_STEP_NODELIST": "localhost", "MASTER_PORT": self.port}
            self.start_rank({k: str(v) for k, v in variables.items()}, *self.flags("roomy-2"))
        self.all_end(0)

    def test_torchrun_starts_ranks(self):
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                 "2", "--no-python"]
        process = self.start_rank({}, *self.flags("roomy-2", export="met.safetensors"),
                                  command=words)
        code, said = self.end(process, 110)
        self.assertEqual(code, 0, said)
        self.assertTrue((self.directory / "met.safetensors").exists())

    def test_every_rank_holds_a_lock_until_it_ends(self):
        for rank in range(2):
            self.start_rank(self.torchrun(rank, 2),
                            *self.flags("roomy-2", steps=1_000_000, checkpoint_every=10))
        self.await_steps(15)
        for name, pids in (("lock", [self.ranks[0].pid]), ("lock-ranks", [self.ranks[1].pid])):
            inode = (self.directory / "run" / name).stat().st_ino
            with open("/proc/locks", encoding="utf-8") as locks:
                words = [line.split() for line in locks]
            holders = [int(each[4]) for each in words if each[5].endswith(f":{inode}")]
            self.assertEqual(holders, pids, name)
        process = self.start("--resume", "run")
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, error)
        self.assertIn(f"error[EX0214]: run directory `run` is in use by process "
                      f"{self.ranks[0].pid} on ", error.decode())
        # An orphan: its rank 0 is gone, and it has not noticed yet. The next attempt waits for it.
        os.kill(self.ranks[1].pid, signal.SIGSTOP)
        self.ranks[0].kill()
        self.ranks[0].wait(20)
        process = self.start("--resume", "run", "--steps", 1)
        for line in process.stderr:
            if b"waiting for ranks of an attempt before to end" in line:
                break
        self.assertIsNone(process.poll())
        os.kill(self.ranks[1].pid, signal.SIGCONT)
        code, said = self.end(self.ranks[1])
        self.assertEqual(code, 4, said)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        self.assertFalse((self.directory / "run/last-tasks").exists())

    def test_a_dry_run_ends_all(self):
        for rank in range(2):
            self.start_rank(self.torchrun(rank, 2),
                            *self.flags("roomy-2", dry_run=True, output=None))
        self.all_end(0)


    def test_ranks_of_several_machines_without_a_secret_say_who_could_join(self):
        try:
            socket.gethostbyname(socket.gethostname())
        except OSError:
            self.skipTest("this machine does not know its own name")
        for rank in range(2):
            variables = self.torchrun(rank, 2, LOCAL_RANK=0, LOCAL_WORLD_SIZE=1,
                                      MASTER_ADDR=socket.gethostname())
            self.start_rank(variables, *self.flags("roomy-2"))
        self.all_end(0)
        _, said = self.end(self.ranks[0])
        self.assertIn("this job has no secret: while its ranks start, whoever can connect to", said)
        self.assertIn("set the same ELIXIR_JOB_SECRET for all ranks", said)


class UnderTorchrun(StartedTest):
    """The agent's store is open to everybody who reaches it."""

    def torchrun_run(self):
        words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1",
                 "--nproc-per-node", "2", "--master-addr",
                 "127.0.0.1", "--master-port", self.port, "--no-python"]
        return self.start_rank({}, *self.flags("roomy-2", export="met.safetensors"),
                               command=map(str, words),
                               ELIXIR_CONNECT_SECONDS="5")

    def stranger(self, body):
        """A process with the store, until it ends."""
        code = f"import torch.distributed as d, datetime, time\nport = {self.port}\n" + body
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    connects = """
while True:
    try:
        store = d.TCPStore("127.0.0.1", port, is_master=False,
                           timeout=datetime.timedelta(seconds=1))
        break
    except Exception:
        time.sleep(0.02)
"""

    def test_what_is_written_there_ends_nobody(self):
        self.stranger(self.connects + """
store.set("elixir/0/failure", '{"code": 901, "message": "from a stranger", "help": []}')
store.set("elixir/0/rank/1", '{"version": "evil"}')
time.sleep(60)
""")
        code, said = self.end(self.torchrun_run(), 110)
        self.assertEqual(code, 0, said)
        self.assertTrue((self.directory / "met.safetensors").exists())

    def test_a_forged_address_prevents_a_start_and_nothing_else(self):
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            port = listening.getsockname()[1]
            self.stranger(self.connects + f"""
while True:
    store.set("elixir/0/rank-0", "127.0.0.1 {port}")
    time.sleep(0.001)
""")
            process = self.torchrun_run()
            code, said = self.end(process, 110)
        if code == 0:
            self.skipTest("the ranks had met before the stranger came")
        self.assertIn("error[EX0605]", said)
        self.assertNotIn("EX0901", said)


class BadInput(StartedTest):
    def test_variables_that_contradict_each_other(self):
        for changed, mention in (
            ({"RANK": None}, "WORLD_SIZE is set, but not RANK"),
            ({"RANK": 2}, "RANK is 2, but WORLD_SIZE is 2"),
            ({"RANK": "first"}, "RANK is `first`"),
            ({"LOCAL_WORLD_SIZE": 3}, "rank 1 of 2 cannot be process 1 of 3"),
            ({"LOCAL_RANK": None}, "LOCAL_WORLD_SIZE is set, but not LOCAL_RANK"),
            ({"MASTER_ADDR": None}, "RANK is set, but not MASTER_ADDR"),
            ({"MASTER_PORT": 70000}, "MASTER_PORT is 70000"),
        ):
            with self.subTest(changed=changed):
                self.ranks.clear()
                self.start_rank(self.torchrun(1, 2, **changed), *self.flags("roomy-2"))
                self.all_end(2, "error[EX0107]", mention)

    def test_a_missing_rank_is_named(self):
        for rank in (0, 2):
            self.start_rank(self.torchrun(rank, 3), *self.flags("tight-3"),
                            ELIXIR_CONNECT_SECONDS="2")
        self.all_end(3, "error[EX0605]", "rank 1 has not come within 2 s", "start all 3 ranks")

    def test_a_missing_rank_0_is_named(self):
        self.start_rank(self.torchrun(1, 2), *self.flags("roomy-2"), ELIXIR_CONNECT_SECONDS="1")
        self.all_end(3, "error[EX0605]", "rank 1 of 2",
                     f"nobody answers at localhost:{self.port}: Connection refused")

    def test_a_port_in_use_is_named(self):
        with socket.socket() as other:
            other.bind(("", self.port))
            other.listen()
            self.start_rank(self.torchrun(0, 2), *self.flags("roomy-2"), ELIXIR_CONNECT_SECONDS="2")
            self.all_end(3, "error[EX0605]",
                         f"cannot listen on port {self.port}: Address already in use",
                         "MASTER_PORT")
            # The others reach whatever that is.
            self.ranks.clear()
            self.start_rank(self.torchrun(1, 2), *self.flags("roomy-2"), ELIXIR_CONNECT_SECONDS="2")
            self.all_end(3, "error[EX0605]", f"localhost:{self.port}", timeout=30)

    def test_an_unknown_host_is_named(self):
        self.start_rank(self.torchrun(1, 2, MASTER_ADDR="host.invalid"), *self.flags("roomy-2"),
                        ELIXIR_CONNECT_SECONDS="1")
        self.all_end(3, "error[EX0605]", "host.invalid")

    def test_two_processes_with_one_rank_are_named(self):
        for rank in (0, 1, 1):
            self.start_rank(self.torchrun(rank, 3), *self.flags("tight-3"),
                            ELIXIR_CONNECT_SECONDS="10")
        self.all_end(2, "error[EX0107]", "two processes are rank 1 of 3", timeout=20)

    def test_another_number_of_ranks_is_named(self):
        self.start_rank(self.torchrun(0, 2), *self.flags("roomy-2"), ELIXIR_CONNECT_SECONDS="10")
        self.start_rank(self.torchrun(1, 3), *self.flags("roomy-2"), ELIXIR_CONNECT_SECONDS="10")
        self.all_end(2, "error[EX0107]", "as one of 3", "as one of 2", timeout=20)

    def test_a_plan_for_another_number_of_ranks_is_refused(self):
        for rank in range(2):
            self.start_rank(self.torchrun(rank, 2), *self.flags("tight-3"))
        self.all_end(2, "error[EX0107]", "2 ranks were started, the plan is for 3")

    def test_a_rank_with_other_inputs_is_named_with_what_differs(self):
        other = self.directory / "other.txt"
        other.write_bytes((self.shared / "text.txt").read_bytes()[:-1] + b"?")
        for changed, mention in (
            ({"data": other}, "rank 1 on"),
            ({"seed": 1}, "has another --seed than rank 0"),
            ({"plan": self.shared / "tight-2.json"}, "has another plan than rank 0"),
        ):
            with self.subTest(changed=changed):
                self.ranks.clear()
                self.port = free_port()
                for rank in range(2):
                    flags = {"plan": self.shared / "roomy-2.json", **(changed if rank == 1 else {})}
                    self.start_rank(self.torchrun(rank, 2),
                                    *self.flags(flags.pop("plan"), output=f"run-{mention[:3]}",
                                                **flags))
                self.all_end(2, "error[EX0108]", mention)
                self.assertEqual(list(self.directory.glob("run-*")), [])

    def test_what_stops_a_rank_before_the_run_is_told_to_the_others(self):
        self.start_rank(self.torchrun(0, 2), *self.flags("roomy-2"))
        self.start_rank(self.torchrun(1, 2),
                        *self.flags("roomy-2", data=self.directory / "none.txt"))
        code, said = self.end(self.ranks[1])
        self.assertEqual(code, 2, said)
        self.assertIn("this is rank 1 of 2", said)
        code, said = self.end(self.ranks[0])
        self.assertEqual(code, 4, said)
        self.assertIn("rank 0 lost rank 1 of 2: it failed: EX0201", said)

    def test_a_run_directory_that_is_not_shared_is_found_out_at_once(self):
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none shared && exec "$@"', "-"]
        (self.directory / "shared").mkdir()
        if subprocess.run([*hide, "true"], cwd=self.directory, capture_output=True).returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.start_rank(self.torchrun(0, 2), *self.flags("roomy-2", output="shared/run"))
        self.start_rank(self.torchrun(1, 2), *self.flags("roomy-2", output="shared/run"),
                        command=hide)
        code, said = self.end(self.ranks[0])
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"error\[EX0204\]: rank 1 of 2 on \S+: "
                               r"cannot write to `/.*/shared/run`")
        self.assertIn("put the run directory where all hosts have it", said)
        code, said = self.end(self.ranks[1])
        self.assertEqual(code, 2, said)
        self.assertFalse((self.directory / "shared/run").exists())


class OnTwoHosts(StartedTest):
    """Ranks 0 and 1 on host a, rank 2 on host b."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts()
        cls.addClassCleanup(cls.hosts.remove)
        if not cls.hosts.make():
            raise unittest.SkipTest("network namespaces cannot be made here")
        super().setUpClass()

    def start_all(self, plan="tight-3", environment=None, **flags):
        for rank, host, local_rank, local_world in ((0, "a", 0, 2), (1, "a", 1, 2), (2, "b", 0, 1)):
            variables = self.torchrun(rank, 3, LOCAL_RANK=local_rank, LOCAL_WORLD_SIZE=local_world,
                                      MASTER_ADDR=Hosts.addresses["a"])
            self.start_rank(variables, *self.flags(plan, **flags), command=self.hosts.enter(host),
                            **(environment or {}))


class TwoHosts(OnTwoHosts):
    def start_run(self):
        self.start_all(steps=1_000_000, checkpoint_every=10)
        self.await_steps(15)
        time.sleep(0.5)  # these steps take less than the time from one sign of life to the next

    def assert_failed(self, victim, why, others, within_s):
        """Every rank of `others` says so, within this time, and its last tasks are written down."""
        began = time.monotonic()
        for rank in others:
            code, said = self.end(self.ranks[rank], timeout=within_s + 5)
            self.assertEqual(code, 4, said)
            self.assertEqual(said.count("error["), 1, said)
            self.assertIn("error[EX0707]", said)
            self.assertIn(f"rank {rank} lost rank {victim} of 3: {why}", said)
            self.assertIn(f"it was on host-{'aab'[victim]}, in step ", said)
        self.assertLess(time.monotonic() - began, within_s)
        for rank in others:
            document = json.loads((self.directory / f"run/last-tasks/rank-{rank}.json").read_text())
            schema("last-tasks").validate(document)
            self.assertEqual(document["rank"], rank)
            self.assertGreater(len(document["tasks"]), 10)

    def assert_goes_on(self):
        """The newest checkpoint is whole."""
        newest = max(path.name for path in (self.directory / "run/checkpoints").iterdir())
        # One process of as many ranks goes on from it.
        self.succeeds("--resume", "run", "--steps", int(newest.rsplit("-", 1)[1]) + 2)
        self.assertFalse((self.directory / "run/last-tasks").exists())

    def test_bits_are_those_of_one_process(self):
        alone = self.exported(*self.flags("alone-3", output="alone"), name="alone.safetensors")
        self.start_all(export="met.safetensors")
        self.all_end(0)
        self.assertEqual(parameters((self.directory / "met.safetensors").read_bytes()),
                         parameters(alone))

    def test_a_replica_on_each_host_has_the_bits_of_one_on_both(self):
        one = self.exported(*self.flags("roomy-4", output="one"), name="one.safetensors")
        for rank in range(4):
            variables = self.torchrun(rank, 4, LOCAL_RANK=rank % 2, LOCAL_WORLD_SIZE=2,
                                      MASTER_ADDR=Hosts.addresses["a"])
            self.start_rank(variables, *self.flags("replicas-4", export="two.safetensors"),
                            command=self.hosts.enter("ab"[rank // 2]))
        self.all_end(0)
        self.assertEqual((self.directory / "two.safetensors").read_bytes(), one)

    def test_a_link_that_breaks_is_named_on_both_sides(self):
        self.start_run()
        self.addCleanup(self.hosts.plug)
        self.hosts.unplug()
        began = time.monotonic()
        code, said = self.end(self.ranks[2], timeout=20)
        self.assertEqual(code, 4, said)
        self.assertRegex(said,
                         r"rank 2 lost rank [01] of 3: no sign of life for 10 s; it was on host-a, "
                         r"in step ")
        self.assert_failed(2, "no sign of life for 10 s", [0, 1], within_s=13)
        self.assertGreater(time.monotonic() - began, 8)
        self.assert_goes_on()

    def test_a_killed_rank_is_named_everywhere(self):
        for victim in (2, 1):
            with self.subTest(victim=victim):
                shutil.rmtree(self.directory / "run", ignore_errors=True)
                self.ranks.clear()
                self.port = free_port()
                self.start_run()
                self.ranks[victim].kill()
                self.assert_failed(victim, "it has ended",
                                   [rank for rank in range(3) if rank != victim], within_s=5)
                self.assert_goes_on()

    def test_a_killed_rank_0_is_named_everywhere(self):
        self.start_run()
        self.ranks[0].kill()
        self.assert_failed(0, "it has ended", [1, 2], within_s=5)
        self.assert_goes_on()

    def test_a_stopped_rank_is_named_everywhere_and_ends_when_it_goes_on(self):
        self.start_run()
        os.kill(self.ranks[2].pid, signal.SIGSTOP)
        self.assert_failed(2, "no sign of life for 10 s", [0, 1], within_s=13)
        # It may still write: the run is not taken from it.
        says = ["a rank of an attempt before, which does not end",
                f"process {self.ranks[2].pid} on host-b"]
        self.fails(2, "EX0214", "--resume", "run", mentions=says)
        os.kill(self.ranks[2].pid, signal.SIGCONT)
        code, said = self.end(self.ranks[2])
        self.assertEqual(code, 4, said)
        self.assertIn("EX0707", said)
        self.assert_goes_on()
        self.assertFalse(any(is_alive(process.pid) for process in self.ranks))

    def test_a_host_that_is_not_reached_is_named(self):
        self.hosts.unplug()
        self.addCleanup(self.hosts.plug)
        variables = self.torchrun(2, 3, LOCAL_RANK=0, LOCAL_WORLD_SIZE=1,
                                  MASTER_ADDR=Hosts.addresses["a"])
        self.start_rank(variables, *self.flags("tight-3"), command=self.hosts.enter("b"),
                        ELIXIR_CONNECT_SECONDS="2")
        self.all_end(3, "error[EX0605]", "rank 2 of 3 on host-b: nobody answers at 10.77.0.1",
                     timeout=20)


class HurtAnywhere(OnTwoHosts):
    """A rank is killed, stopped or unplugged at a random time, and the run goes on."""

    times = 2

    def hurt(self, how, victim):
        """What undoes it."""
        if how == "unplug":
            self.hosts.unplug()
            return self.hosts.plug
        self.ranks[victim].send_signal(signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        return self.ranks[victim].kill

    def hurt_run(self, chosen, how, name, calm_s):
        self.ranks.clear()
        self.port = free_port()
        self.start_all(steps=40, checkpoint_every=4, output=name,
                       environment={"ELIXIR_CONNECT_SECONDS": "5"})
        time.sleep(chosen.uniform(0, 1.1 * calm_s))
        victim = 2 if how == "unplug" else chosen.randrange(3)
        undo = self.hurt(how, victim)
        self.addCleanup(undo)
        for rank, process in enumerate(self.ranks):
            if rank == victim and how != "unplug":
                continue
            code, said = self.end(process, 30)
            self.assertIn(code, (0, 3, 4), said)
            if code != 0:
                self.assertEqual(said.count("error["), 1, said)
                if rank != victim:
                    self.assertRegex(said, rf"rank(s \d+,)? {victim}\b|nobody answers|cannot reach",
                                     said)
        undo()
        for process in self.ranks:
            process.wait(30)

    def test_runs_go_on_with_the_same_bits(self):
        chosen = random.Random(self.times)
        began = time.monotonic()
        calm = self.exported(*self.flags("tight-3", steps=40, output="calm"),
                             name="calm.safetensors")
        calm_s = time.monotonic() - began
        for time_ in range(self.times):
            how = ("kill", "unplug", "stop")[time_ % 3] if self.times > 2 else "kill"
            name = f"hurt-{time_}"
            with self.subTest(time=time_, how=how):
                self.hurt_run(chosen, how, name, calm_s)
                if (self.directory / name / "config.json").exists():
                    again = ["--resume", name]
                else:
                    again = self.flags("tight-3", steps=40, output=name, force=True)
                self.assertEqual(self.exported(*again, name=f"{name}.safetensors"), calm)


if __name__ == "__main__":
    # meson test cli-started-ranks --test-args 100: so many times.
    if len(sys.argv) > 1 and sys.argv[-1].isdigit():
        HurtAnywhere.times = int(sys.argv.pop())
    unittest.main()
