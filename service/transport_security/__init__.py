"""
TLS and bearer tokens for both sides of the service, re-read when their files change.
"""
