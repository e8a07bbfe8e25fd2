"""
The commands of `toolscore`, one module each. Only commands read the process environment.
"""
