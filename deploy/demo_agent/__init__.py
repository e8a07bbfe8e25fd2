"""
The demo agent of docker-compose.yml.
"""
