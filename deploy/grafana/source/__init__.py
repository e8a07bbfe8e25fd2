"""
The dashboards as code. `python -m deploy.grafana.source` writes their JSON into `deploy/grafana/dashboards`.

Metrics are named here as they are in Prometheus; `service/metadata.yaml` says what each one means.
"""
