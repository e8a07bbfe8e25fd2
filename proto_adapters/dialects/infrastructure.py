"""
Scopes that are known to instrument infrastructure and nothing else: their spans need not be decoded to find GenAI work.

A closed list of what was seen, not a guess: an unknown scope may hold anything. Instrumentations of clients that also
call models (botocore, the AWS SDK) are left out on purpose. Pure.
"""

from functools import lru_cache
from typing import Final

_PYTHON: Final = "opentelemetry.instrumentation."
_PYTHON_NAMES: Final = frozenset(
    [
        "aio_pika",
        "aiohttp_client",
        "aiohttp_server",
        "aiokafka",
        "aiopg",
        "asgi",
        "asyncio",
        "asyncpg",
        "boto",
        "boto3sqs",
        "cassandra",
        "celery",
        "click",
        "confluent_kafka",
        "dbapi",
        "django",
        "elasticsearch",
        "falcon",
        "fastapi",
        "flask",
        "grpc",
        "httpx",
        "jinja2",
        "kafka",
        "logging",
        "mysql",
        "mysqlclient",
        "pika",
        "psycopg",
        "psycopg2",
        "pymemcache",
        "pymongo",
        "pymssql",
        "pymysql",
        "pyramid",
        "redis",
        "remoulade",
        "requests",
        "sqlalchemy",
        "sqlite3",
        "starlette",
        "system_metrics",
        "threading",
        "tornado",
        "tortoiseorm",
        "urllib",
        "urllib3",
        "wsgi",
    ]
)
_NODE: Final = "@opentelemetry/instrumentation-"
_NODE_NAMES: Final = frozenset(
    [
        "amqplib",
        "aws-lambda",
        "bunyan",
        "cassandra-driver",
        "connect",
        "cucumber",
        "dataloader",
        "dns",
        "document-load",
        "express",
        "fastify",
        "fetch",
        "fs",
        "generic-pool",
        "graphql",
        "grpc",
        "grpc-js",
        "hapi",
        "http",
        "ioredis",
        "kafkajs",
        "knex",
        "koa",
        "long-task",
        "lru-memoizer",
        "memcached",
        "mongodb",
        "mongoose",
        "mysql",
        "mysql2",
        "nestjs-core",
        "net",
        "pg",
        "pino",
        "redis",
        "redis-4",
        "restify",
        "router",
        "runtime-node",
        "socket.io",
        "tedious",
        "undici",
        "user-interaction",
        "winston",
        "xml-http-request",
    ]
)
_PREFIXES: Final = (
    "go.opentelemetry.io/contrib/instrumentation/",
    "OpenTelemetry::Instrumentation::",
    "OpenTelemetry.Instrumentation.",
    "Microsoft.AspNetCore",
    "Microsoft.EntityFrameworkCore",
    "System.Net.Http",
    "io.opentelemetry.tomcat",
    "io.opentelemetry.jetty",
    "io.opentelemetry.netty",
    "io.opentelemetry.servlet",
    "io.opentelemetry.spring-web",
    "io.opentelemetry.jdbc",
    "io.opentelemetry.hibernate",
    "io.opentelemetry.hikaricp",
    "io.opentelemetry.lettuce",
    "io.opentelemetry.jedis",
    "io.opentelemetry.mongo",
    "io.opentelemetry.kafka-clients",
    "io.opentelemetry.okhttp",
    "io.opentelemetry.apache-httpclient",
    "io.opentelemetry.java-http-client",
    "io.opentelemetry.grpc",
    "io.opentelemetry.r2dbc",
    "io.opentelemetry.rabbitmq",
    "io.opentelemetry.undertow",
    "io.opentelemetry.vertx",
)
_MAX_SCOPES: Final = 4096


@lru_cache(_MAX_SCOPES)
def scope_may_hold_genai(scope_name: str) -> bool:
    """
    Whether spans of this scope may be GenAI work. False only for scopes that are known to be pure infrastructure.
    """
    if scope_name.startswith(_PYTHON):
        return scope_name.removeprefix(_PYTHON).partition(".")[0] not in _PYTHON_NAMES
    if scope_name.startswith(_NODE):
        return scope_name.removeprefix(_NODE) not in _NODE_NAMES
    return not scope_name.startswith(_PREFIXES)
