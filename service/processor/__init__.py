"""
The processor: from received requests to scored traces.

`intake` takes requests apart into the trace buffer, `closing` scores a due trace, `delivery` decides what of the result
is new, `signals` writes it as attributes, events and spans, and the `outbox` packs what leaves into requests.
`processor` holds the loop that owns all of it.
"""
