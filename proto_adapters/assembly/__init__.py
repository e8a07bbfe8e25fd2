"""
How the spans of one trace become one `CanonicalTrace`, one module per question. `trace_assembly` is the way in.

Pure: no clock, no I/O, no protobuf, no logging. Every result is independent of the order in which spans arrived.
"""
