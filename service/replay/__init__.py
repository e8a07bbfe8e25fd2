"""
Offline reading: recorded requests through the same path as live ones, without a buffer, timers or sockets.
"""
