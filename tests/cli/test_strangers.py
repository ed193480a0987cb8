# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Strangers at the ports of ranks that something else starts: port scanners, junk, somebody who
says that he is a rank and has no secret. No rank ends because of one, none takes 64 MiB more, no
start takes a second longer. The ranks are processes of rank_process.cc, which meet as those of
elixir-train do. `test_strangers.py 3600`: an hour of noise."""

import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_port

SECRET = "a secret that no stranger has"
HELLO, CHALLENGE, PROOF = 1, 2, 3
CHANNELS = {"meeting": 0, "steps": 1, "control": 2, "signs": 3}


def head(kind, length):
    return b"EX" + struct.pack("<BBI", 1, kind, length)


def frame(kind, payload=b""):
    return head(kind, len(payload)) + payload


def hello(rank, world, channel="meeting", to=0):
    attempt = b"0"
    return frame(
        HELLO,
        struct.pack("<BiiiI", CHANNELS[channel], rank, to, world, len(attempt))
        + attempt
        + os.urandom(32),
    )


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


class Rank(subprocess.Popen):
    """A rank of `world` at a port of 127.0.0.1."""

    def __init__(self, rank, port, world=2, seconds=0.5, command=(), **environment):
        self.said, self.text = tempfile.TemporaryFile(), None
        variables = {
            "RANK": rank,
            "WORLD_SIZE": world,
            "LOCAL_RANK": rank,
            "LOCAL_WORLD_SIZE": world,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "ELIXIR_JOB_SECRET": SECRET,
            **environment,
        }
        variables = {name: str(value) for name, value in variables.items() if value is not None}
        super().__init__(
            [*command, os.environ["ELIXIR_RANK_PROCESS"], str(seconds)],
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=self.said,
            env={**os.environ, **variables},
        )

    def end(self, timeout=60):
        """(exit code, what it said)."""
        self.wait(timeout)
        if self.text is None:
            self.said.seek(0)
            self.text = self.said.read().decode()
            self.said.close()
        return self.returncode, self.text


class Strangers(unittest.TestCase):
    noise_s = 5

    def setUp(self):
        self.port = free_port()
        self.ranks, self.kept = [], []
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-strangers-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(self.end_all)

    def end_all(self):
        for each in self.kept:
            each.close()
        for process in self.ranks:
            process.kill()
            process.end()

    def start(self, rank, **options):
        self.ranks.append(Rank(rank, self.port, **options))
        return self.ranks[-1]

    def all_end(self, code, *mentions):
        """What they said."""
        texts = []
        for process in self.ranks:
            got, said = process.end()
            self.assertEqual(got, code, said)
            for mention in mentions:
                self.assertIn(mention, said)
            texts.append(said)
        return texts

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
        """How long rank 1 took to meet rank 0 after an attack on that one, and what rank 0 took."""
        self.ranks.clear()
        self.port = free_port()
        rank_0 = self.start(0, seconds=1)
        self.await_port(self.port).close()
        attack()
        self.start(1, seconds=1)
        time.sleep(0.7)
        peak = peak_mib(rank_0)
        met = re.search(r"met after ([\d.]+) s", self.all_end(0)[1])
        return float(met.group(1)), peak

    def assert_undisturbed(self, attack):
        calm_s, calm = self.attacked(lambda: None)
        seconds, peak = self.attacked(attack)
        self.assertLess(seconds, calm_s + 1)
        self.assertLess(peak, calm + 64)

    def test_junk(self):
        def attack():
            for data in (
                b"",
                b"GET / HTTP/1.1\r\n\r\n",
                os.urandom(4096),
                bytes(100),
                bytes([9]) + struct.pack("<I", 0x3C85F7CE),  # as to LibTorch's store
                bytes([9])
                + struct.pack("<I", 0x3C85F7CE)
                + bytes([0])
                + struct.pack("<Q", 1 << 32),
                head(HELLO, 0xFFFFFFFF),
                head(6, 64 << 20) + bytes(1000),
                frame(HELLO, b"x"),
                hello(1, 2)[:30],
                frame(13, struct.pack("<i", 10**9) + b"bye"),
                frame(11, bytes(64)),
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
                        stranger.sendall(
                            frame(12, struct.pack("<iI", -5, 3) + b"bye")
                            + head(13, 0xFFFFFFFF)
                            + bytes(1 << 16)
                        )
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
        where = {"TMPDIR": str(self.directory), "ELIXIR_JOB_SECRET": None}
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
        _, said = self.ranks[0].end()
        self.assertIn("rank 1 has not come within 2 s", said)
        self.assertRegex(
            said,
            r"somebody at 127\.0\.0\.1 did not take this rank for one of its job: "
            r"it has another job secret",
        )
        _, said = self.ranks[1].end()
        self.assertIn("does not have the secret of this job", said)
        self.assertIn("ELIXIR_JOB_SECRET", said)

    def test_a_secret_in_a_file(self):
        path = self.directory / "secret"
        path.write_text(SECRET + "\n")
        path.chmod(0o600)
        self.start(0)
        self.start(1, ELIXIR_JOB_SECRET=None, ELIXIR_JOB_SECRET_FILE=str(path))
        self.all_end(0)

    def test_bad_secrets(self):
        path = self.directory / "secret"
        path.write_text(SECRET)
        path.chmod(0o644)
        for environment, code, mention in (
            (
                {"ELIXIR_JOB_SECRET": "short"},
                "EX0102",
                "the secret in ELIXIR_JOB_SECRET has 5 characters",
            ),
            ({"ELIXIR_JOB_SECRET_FILE": str(path)}, "EX0102", "are both set"),
            (
                {"ELIXIR_JOB_SECRET": None, "ELIXIR_JOB_SECRET_FILE": str(path)},
                "EX0202",
                "can be read by others",
            ),
            (
                {"ELIXIR_JOB_SECRET": None, "ELIXIR_JOB_SECRET_FILE": str(path) + "x"},
                "EX0201",
                "there is no file",
            ),
        ):
            with self.subTest(environment=environment):
                self.ranks.clear()
                self.start(0, **environment)
                self.all_end(2, f"error[{code}]", mention)

    def test_no_descriptors_are_named(self):
        limited = ["sh", "-c", 'ulimit -n 8 && exec "$@"', "-"]
        for rank in range(3):
            self.start(
                rank, world=3, ELIXIR_CONNECT_SECONDS="5", command=limited if rank == 2 else ()
            )
        self.all_end(3, "error[EX0605]", "file descriptors", "ulimit -n")

    def test_noise(self):
        """Random frames, as long as the ranks exist: while they meet at all their ports, and while
        they exchange."""
        chosen = random.Random(1)
        world, seconds = 3, self.noise_s
        calm = self.attacked(lambda: None)[1]
        self.ranks.clear()
        self.port = free_port()
        for rank in range(world - 1):
            self.start(rank, world=world, seconds=1, ELIXIR_CONNECT_SECONDS=seconds + 25)
        self.await_port(self.port).close()
        kinds = [
            bytes(),
            b"GET / HTTP/1.1\r\n\r\n",
            hello(1, world),
            hello(2, world),
            hello(1, world, "steps"),
            head(HELLO, 1 << 31),
        ]
        end = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < end:
            port = chosen.choice(
                [port for process in self.ranks for _, port in listening_ports(process)]
                or [self.port]
            )
            for _ in range(50):
                data = bytearray(
                    chosen.choice(kinds) + chosen.randbytes(chosen.choice((0, 0, 8, 64, 4096)))
                )
                for _ in range(chosen.choice((0, 1, 3))):
                    if data:
                        data[chosen.randrange(len(data))] = chosen.randrange(256)
                try:
                    stranger = socket.create_connection(("127.0.0.1", port), 1)
                    stranger.sendall(data)
                except OSError:
                    continue
                sent += 1
                self.kept.append(stranger)
                if len(self.kept) > 400:
                    self.kept.pop(chosen.randrange(400)).close()
        peaks = [peak_mib(process) for process in self.ranks]
        self.start(world - 1, world=world, seconds=1)
        said = self.all_end(0)
        met = float(re.search(r"met after ([\d.]+) s", said[-1]).group(1))
        print(
            f"{sent} connections in {seconds} s: peaks of {peaks} MiB, {calm} without them; "
            f"met after {met} s",
            file=sys.stderr,
        )
        self.assertGreater(sent, 100)
        self.assertLess(met, 1.5)
        for peak in peaks:
            self.assertLess(peak, calm + 64)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[-1].isdigit():
        Strangers.noise_s = int(sys.argv.pop())
    unittest.main()
