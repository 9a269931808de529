#!/usr/bin/python3
"""hanging_member.py MEMBER_PY STUBS FILE: a member whose work stands still while FILE exists. Its threads go on."""
import os
import pathlib
import signal
import sys
import threading
import time

MEMBER_PY, STUBS, FILE = map(pathlib.Path, sys.argv[1:])
sys.path[:0] = [str(MEMBER_PY.parent), str(STUBS)]

import member  # noqa: E402  # pylint: disable=wrong-import-position


def work(its):
    while True:
        if not FILE.exists():
            its.alive()
        time.sleep(0.1)


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
SAYER = member.Sayer()
ITS = SAYER.member = member.Member(os.environ["BATON_ATTACH"], SAYER)
threading.Thread(target=work, args=(ITS,), daemon=True).start()
ITS.run()
