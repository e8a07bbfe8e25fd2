"""
`python -m service` is `toolscore`.
"""

from service.cli import main

main()
