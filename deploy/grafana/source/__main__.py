"""
Writes every dashboard as JSON.
"""

from deploy.grafana.source.boards import DASHBOARDS, FOLDER, as_json

for name in DASHBOARDS:
    (FOLDER / f"{name}.json").write_text(as_json(name))
