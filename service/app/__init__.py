"""
The composition root: the configuration becomes a running service, in plain constructor calls.
"""
