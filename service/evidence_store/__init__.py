"""
Stored evidence: what was known of each occurrence when it was scored, on disk, to be scored again later.

`documents` is the form of one document and its digest, `contents` goes from an assessment to a document and back,
`evidence_file` appends documents to a file without holding up the event loop.
"""
