# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Ports for tests. Needs the standard library alone."""
import random
import socket


def free_port():
    """A port that nobody uses, below 32768, where Linux begins to choose ports by itself: no other
    process gets it by chance before the caller does."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768)
        with socket.socket() as tried:
            try:
                tried.bind(("", port))
            except OSError:
                continue
            return port
