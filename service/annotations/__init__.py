"""
Annotations: what single occurrences require, said by an evaluation harness while the service runs.

Two places hold them: `annotations_file`, read again when it changes, and what came in over HTTP, bounded and expiring.
For one occurrence the newest word counts: what was put over HTTP stands before the file, the file before the
`annotations` of the configuration.
"""

from service.annotations.annotations_file import AnnotationsFile
from service.annotations.held import HeldAnnotations
from service.annotations.live import LiveAnnotations
from service.annotations.reading import Columns, UnreadableAnnotations, occurrence_id, read_annotation, read_annotations

__all__ = [
    "AnnotationsFile",
    "Columns",
    "HeldAnnotations",
    "LiveAnnotations",
    "UnreadableAnnotations",
    "occurrence_id",
    "read_annotation",
    "read_annotations",
]
