# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""For which GPUs the CUDA kernels were built: reads the fat binaries in object files, as cuobjdump
would (which the CUDA wheels lack). Usage: check_architectures.py "80 86 90" ptx-ARCHITECTURE
OBJECT…; fails where an object lacks one."""
import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, MACHINE_CODE = 1, 2


def entries(data):
    """(kind, architecture) of every entry of every fat binary: a header of 16 bytes with the size
    of what follows, then entries, each with its kind, the sizes of its own header and payload, and
    at byte 28 its architecture."""
    at = data.find(MAGIC)
    while at >= 0:
        header_bytes, payload_bytes = struct.unpack_from("<HQ", data, at + 6)
        position, end = at + header_bytes, at + header_bytes + payload_bytes
        while position + 32 <= end:
            kind, own_bytes, content_bytes = struct.unpack_from("<H2xIQ", data, position)
            yield kind, struct.unpack_from("<I", data, position + 28)[0]
            position += own_bytes + content_bytes
        at = data.find(MAGIC, max(end, at + 4))


def main():
    wanted = {(MACHINE_CODE, int(a)) for a in sys.argv[1].split()} | {(PTX, int(sys.argv[2]))}
    checked = 0
    for name in sys.argv[3:]:
        found = set(entries(pathlib.Path(name).read_bytes()))
        if not found:
            continue  # host code alone
        checked += 1
        if found != wanted:
            sys.exit(
                f"{name} has {sorted(found)}, wanted {sorted(wanted)} (kind 1: PTX, 2: machine "
                f"code)")
    if checked == 0:
        sys.exit("no object has CUDA code")
    print(f"{checked} objects have {sorted(wanted)}")


main()
