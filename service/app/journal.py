"""
The journal, as configured.
"""

from pathlib import Path

from service.clock import Clock
from service.config import Config
from service.errors import ConfigError
from service.journal.store import Fsync, JournalStore, JournalUnusable
from service.processor.journalled import Journalled, JournalSettings
from service.processor.settings import MEBIBYTE
from service.telemetry.recorder import Recorder

WHERE = "processors::tool_scoring::buffer::journal::directory"


def open_journal(config: Config, recorder: Recorder, clock: Clock) -> Journalled | None:
    """
    The journal, locked and read; `None` if none is configured. Raises `ConfigError` if it cannot be used.
    """
    block = config.tool_scoring
    journal = block.buffer.journal
    if journal.directory is None:
        return None
    fsync = Fsync(journal.fsync)
    try:
        store = JournalStore(Path(journal.directory), fsync)
    except JournalUnusable as error:
        raise ConfigError([(WHERE, f"cannot be used: {error}")]) from error
    settings = JournalSettings(
        fsync=fsync,
        max_bytes=journal.max_size_mib * MEBIBYTE,
        decision_cache_size=block.decision_cache.size,
    )
    return Journalled(store, settings, recorder, clock)
