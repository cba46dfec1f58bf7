"""Opens a store without root's right to write everything: `python read_only_driver.py URL`; says what came of it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys

from glados.conversations.plugin import ConversationsPlugin
from glados.core.errors import GladosError
from glados.database.testing import open_database

CAPABILITIES = 0x20080522  # version 3 of the kernel's structure: three sets, of two words each


def give_up_rights() -> None:
    """Be an owner like any other; what other users are has no such rights to begin with."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.capset((ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()):
            raise OSError(ctypes.get_errno(), "capset")


async def main(url: str) -> None:
    give_up_rights()
    try:
        async with open_database(url, ConversationsPlugin):
            print("opened")
    except GladosError as error:
        print(error.code, error.message)


asyncio.run(main(sys.argv[1]))
