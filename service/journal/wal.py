"""
What SQLite does not tell of its write-ahead log: transactions at its end that it left out because a frame before them
is damaged.

SQLite reads the log up to the first frame whose checksum is wrong. A transaction that a crash cut short ends there
without a commit, and was never acknowledged; a commit *behind* that frame was. Form of the file: sqlite.org/walformat.
"""

from pathlib import Path
from struct import Struct as Layout

_HEADER = Layout(">16x8s8x")
_FRAME = Layout(">4xI8s8x")


def count_lost_commits(log: Path, *, frames: int, page_size: int) -> int:
    """
    Transactions in *log* behind the *frames* that SQLite could read.
    """
    if not log.exists():
        return 0
    with log.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return 0
        (salt,) = _HEADER.unpack(header)
        frame_size = _FRAME.size + page_size
        whole = (log.stat().st_size - _HEADER.size) // frame_size
        lost = 0
        for frame in range(frames, whole):
            file.seek(_HEADER.size + frame * frame_size)
            commit_size, frame_salt = _FRAME.unpack(file.read(_FRAME.size))
            lost += bool(commit_size) and frame_salt == salt
        return lost
