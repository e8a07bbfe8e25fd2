"""
Python's garbage collector in a service that holds many traces.

Whatever leaves the service is freed by reference counting; the collector only finds cycles, which are few here. A full
collection looks at every trace that is held: with 400,000 spans it stopped all work for a fifth of a second on a busy
machine. So full collections are as good as switched off, and what start-up made is never looked at again. Collections
of young objects, which find nearly all cycles, go on as usual and take a few milliseconds at most.
"""

import gc

YOUNG, MIDDLE = 700, 10
"""CPython's own thresholds."""
FULL = 100_000
"""Full collections come after that many of the middle generation: 700 million objects later."""


def spare_held_traces() -> None:
    """
    Let the collector be. Called once, when the service has started.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, FULL)
