"""
The process as the operating system sees it: processor time, resident memory.
"""

import os
from pathlib import Path

STATM = Path("/proc/self/statm")


def user_seconds() -> float:
    return os.times().user


def system_seconds() -> float:
    return os.times().system


def resident_bytes() -> int | None:
    """
    Resident memory now; unknown where there is no procfs (`getrusage` knows the peak only).
    """
    if not STATM.exists():
        return None
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
