"""
The journal: requests on disk before they are acknowledged, and what became of their traces (design §12).

`records` are what is written, `store` is the SQLite file, `writer` the one thread that writes to it in groups, `ledger`
knows which requests are still needed. The processor's side is `service.processor.journalled`.
"""
