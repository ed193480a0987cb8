# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Strangers at the ports of ranks that something else starts: port scanners, junk, somebody who says that he is a rank and
has no secret, and somebody who writes to torchrun's store. No rank ends because of one, none takes 64 MiB more."""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time
import unittest

from test_started_ranks import StartedTest, free_port

SECRET = "a secret that no stranger has"
HELLO, CHALLENGE, PROOF = 1, 2, 3
CHANNELS = {"meeting": 0, "steps": 1, "control": 2, "signs": 3}


def head(kind, length):
    return b"EX" + struct.pack("<BBI", 1, kind, length)


def frame(kind, payload=b""):
    return head(kind, len(payload)) + payload


def hello(rank, world, channel="meeting", to=0):
    attempt = b"0"
    return frame(HELLO, struct.pack("<BiiiI", CHANNELS[channel], rank, to, world, len(attempt)) + attempt + os.urandom(32))


def peak_mib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024
    return 0


def listening_ports(process):
    """(address, port) of what the process listens at."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(descriptor))
        except FileNotFoundError:
            pass
    found = []
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process.pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            address, port = words[1].rsplit(":", 1)
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                found.append((address, int(port, 16)))
    return found


class Strangers(StartedTest):
    def setUp(self):
        super().setUp()
        self.kept = []
        self.addCleanup(lambda: [each.close() for each in self.kept])

    def start(self, rank, world=2, **environment):
        environment.setdefault("ELIXIR_JOB_SECRET", SECRET)
        variables = self.torchrun(rank, world, MASTER_ADDR="127.0.0.1")
        return self.start_rank(variables, *self.flags("roomy-2", steps=3, output=f"run-{self.port}"), **environment)

    def await_port(self, port):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                return socket.create_connection(("127.0.0.1", port), 1)
            except OSError:
                time.sleep(0.02)
        self.fail(f"nobody listens at {port}")

    def connect(self, data=b"", port=None):
        stranger = self.await_port(port or self.port)
        stranger.settimeout(5)
        if data:
            stranger.sendall(data)
        self.kept.append(stranger)
        return stranger

    def assert_ended(self, stranger):
        try:
            self.assertEqual(stranger.recv(1), b"", "the stranger is heard no longer")
        except ConnectionResetError:
            pass

    def attacked(self, attack):
        """Seconds and peaks of two ranks, the second of which comes after the attack on the first."""
        self.ranks.clear()
        self.port = free_port()
        rank_0 = self.start(0)
        self.await_port(self.port).close()
        attack()
        peaks = [peak_mib(rank_0)]
        began = time.monotonic()
        self.start(1)
        self.all_end(0)
        return time.monotonic() - began, peaks

    def assert_undisturbed(self, attack):
        calm_s, calm = self.attacked(lambda: None)
        seconds, peaks = self.attacked(attack)
        self.assertLess(seconds, calm_s + 5)
        self.assertLess(peaks[0], calm[0] + 64)

    def test_junk(self):
        def attack():
            for data in (
                b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), bytes(100),
                bytes([9]) + struct.pack("<I", 0x3C85F7CE),  # as to LibTorch's store
                bytes([9]) + struct.pack("<I", 0x3C85F7CE) + bytes([0]) + struct.pack("<Q", 1 << 32),
                head(HELLO, 0xFFFFFFFF), head(6, 64 << 20) + bytes(1000), frame(HELLO, b"x"), hello(1, 2)[:30],
                frame(13, struct.pack("<i", 10**9) + b"bye"), frame(11, bytes(64)),
            ):
                for _ in range(5):
                    self.connect(data)
            time.sleep(0.5)

        self.assert_undisturbed(attack)

    def test_silent_connections(self):
        self.assert_undisturbed(lambda: [self.connect() for _ in range(300)])

    def test_a_rank_without_the_secret_is_not_let_in(self):
        def attack():
            for channel in CHANNELS:
                for proof in ("zeros", "reflected"):
                    stranger = self.connect(hello(1, 2, channel))
                    answer = b""
                    while len(answer) < 72:
                        part = stranger.recv(72 - len(answer))
                        self.assertNotEqual(part, b"")
                        answer += part
                    self.assertEqual(answer[:8], head(CHALLENGE, 64))
                    stranger.sendall(frame(PROOF, bytes(32) if proof == "zeros" else answer[40:72]))
                    # What follows would be a loss of a rank that is none, and gigabytes.
                    try:
                        stranger.sendall(frame(12, struct.pack("<iI", -5, 3) + b"bye") + head(13, 0xFFFFFFFF) + bytes(1 << 16))
                    except OSError:
                        pass
                    self.assert_ended(stranger)

        self.assert_undisturbed(attack)

    def test_ranks_listen_where_the_master_is_alone(self):
        rank_0 = self.start(0)
        self.await_port(self.port).close()
        self.assertEqual(listening_ports(rank_0), [("0100007F", self.port)])
        self.start(1)
        self.all_end(0)

    def test_ranks_of_one_machine_have_a_secret_of_their_own(self):
        where = {"TMPDIR": str(self.directory), "ELIXIR_JOB_SECRET": ""}
        self.start(0, **where)
        stranger = self.connect(hello(1, 2))
        self.assertEqual(len(stranger.recv(72)), 72)
        self.start(1, **where)
        self.all_end(0)
        (secret,) = self.directory.glob("elixir-secret-*")
        self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
        self.assertEqual(len(secret.read_text()), 64)

    def test_another_secret_is_named_on_both_sides(self):
        self.start(0, ELIXIR_CONNECT_SECONDS="2")
        self.start(1, ELIXIR_CONNECT_SECONDS="2", ELIXIR_JOB_SECRET="a secret with a typo")
        _, said = self.end(self.ranks[0])
        self.assertIn("rank 1 has not come within 2 s", said)
        self.assertRegex(said, r"somebody at 127\.0\.0\.1 did not take this rank for one of its job: it has another job secret")
        _, said = self.end(self.ranks[1])
        self.assertIn("does not have the secret of this job", said)
        self.assertIn("ELIXIR_JOB_SECRET", said)

    def test_a_secret_in_a_file(self):
        path = self.directory / "secret"
        path.write_text(SECRET + "\n")
        path.chmod(0o600)
        self.start(0)
        self.start(1, ELIXIR_JOB_SECRET="", ELIXIR_JOB_SECRET_FILE=str(path))
        self.all_end(0)

    def test_bad_secrets(self):
        path = self.directory / "secret"
        path.write_text(SECRET)
        path.chmod(0o644)
        for environment, code, mention in (
            ({"ELIXIR_JOB_SECRET": "short"}, "EX0102", "the secret in ELIXIR_JOB_SECRET has 5 characters"),
            ({"ELIXIR_JOB_SECRET_FILE": str(path)}, "EX0102", "are both set"),
            ({"ELIXIR_JOB_SECRET": "", "ELIXIR_JOB_SECRET_FILE": str(path)}, "EX0202", "can be read by others"),
            ({"ELIXIR_JOB_SECRET": "", "ELIXIR_JOB_SECRET_FILE": str(path) + "x"}, "EX0201", "there is no file"),
        ):
            with self.subTest(environment=environment):
                self.ranks.clear()
                self.start(0, **environment)
                self.all_end(2, f"error[{code}]", mention)

    def test_ranks_of_several_machines_without_a_secret_say_who_could_join(self):
        try:
            socket.gethostbyname(socket.gethostname())
        except OSError:
            self.skipTest("this machine does not know its own name")
        for rank in range(2):
            variables = self.torchrun(rank, 2, LOCAL_RANK=0, LOCAL_WORLD_SIZE=1, MASTER_ADDR=socket.gethostname())
            self.start_rank(variables, *self.flags("roomy-2"))
        self.all_end(0)
        _, said = self.end(self.ranks[0])
        self.assertIn("this job has no secret: while its ranks start, whoever can connect to", said)
        self.assertIn("set the same ELIXIR_JOB_SECRET for all ranks", said)

    def test_no_descriptors_are_named(self):
        limited = ["sh", "-c", 'ulimit -n 12 && exec "$@"', "-"]
        variables = self.torchrun(1, 2, MASTER_ADDR="127.0.0.1")
        self.start(0, ELIXIR_CONNECT_SECONDS="2")
        self.start_rank(variables, *self.flags("roomy-2"), command=limited, ELIXIR_CONNECT_SECONDS="2", ELIXIR_JOB_SECRET=SECRET)
        code, said = self.end(self.ranks[1])
        self.assertNotEqual(code, 0)
        self.assertRegex(said, "file descriptors|Too many open files")


class UnderTorchrun(StartedTest):
    """The agent's store is open to everybody who reaches it."""

    def torchrun_run(self):
        words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--master-addr",
                 "127.0.0.1", "--master-port", self.port, "--no-python"]
        return self.start_rank({}, *self.flags("roomy-2", export="met.safetensors"), command=map(str, words),
                               ELIXIR_CONNECT_SECONDS="5")

    def stranger(self, body):
        """A process with the store, until it ends."""
        code = f"import torch.distributed as d, datetime, time\nport = {self.port}\n" + body
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    connects = """
while True:
    try:
        store = d.TCPStore("127.0.0.1", port, is_master=False, timeout=datetime.timedelta(seconds=1))
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


if __name__ == "__main__":
    unittest.main()
