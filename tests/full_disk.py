"""
A disk on which nothing more can be written, as far as this process can tell.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def a_full_disk(size: int = 0) -> Iterator[None]:
    """
    No file of this process may grow beyond *size*.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
