"""
The wire and the canonical model.

Importing this package loads the canonical model only; the modules that know protobuf are imported by name.
"""
