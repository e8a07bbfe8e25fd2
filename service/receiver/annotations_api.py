"""
`/v1/annotations/{trace or session id}`: what one occurrence requires, set before or after its spans come.

Routes for the OTLP/HTTP listener, behind its authentication. PUT sets, GET shows, DELETE takes back (design §7).
"""

import json

from aiohttp import web

from service.annotations import (
    Columns,
    LiveAnnotations,
    UnreadableAnnotations,
    occurrence_id,
    read_annotation,
)
from service.annotations.reading import MAX_ID_LENGTH
from service.durations import SECOND
from service.errors import MalformedRequest, RequestError
from service.receiver.compression import ENCODINGS
from service.receiver.http_body import BodyReader
from service.scoring.annotations import EXPECTED_TOOLS_COLUMN, AnnotationInvalid, read_tool_names
from service.telemetry.recorder import Recorder

PATH = "/v1/annotations/{occurrence:.+}"
MAX_BODY_BYTES = 64 * 1024
TIMEOUT_NS = 10 * SECOND


class AnnotationsApi:
    """
    Serves the annotations that are held in *annotations*.
    """

    def __init__(self, annotations: LiveAnnotations, recorder: Recorder) -> None:
        self._annotations = annotations
        self._recorder = recorder
        self._body = BodyReader(limit=MAX_BODY_BYTES, timeout_ns=TIMEOUT_NS, encodings=ENCODINGS)

    def add_routes(self, app: web.Application) -> None:
        """
        Serve on *app*, which turns a `RequestError` into an answer.
        """
        app.router.add_put(PATH, self._put)
        app.router.add_get(PATH, self._get)
        app.router.add_delete(PATH, self._delete)

    async def _put(self, request: web.Request) -> web.Response:
        try:
            occurrence = _occurrence(request)
            columns = await self._read(request)
        except RequestError:
            self._recorder.annotation_received(succeeded=False)
            raise
        self._annotations.put(occurrence, columns)
        self._recorder.annotation_received(succeeded=True)
        return _answer(occurrence, columns)

    async def _read(self, request: web.Request) -> Columns:
        try:
            return read_annotation(await self._body.read(request))
        except UnreadableAnnotations as error:
            raise MalformedRequest(str(error)) from error

    async def _get(self, request: web.Request) -> web.Response:
        occurrence = _occurrence(request)
        columns = self._annotations.get(occurrence)
        if columns is None:
            raise web.HTTPNotFound(reason="no annotation")
        return _answer(occurrence, columns)

    async def _delete(self, request: web.Request) -> web.Response:
        if not self._annotations.delete(_occurrence(request)):
            raise web.HTTPNotFound(reason="no annotation")
        return web.Response(status=204)


def _occurrence(request: web.Request) -> str:
    text = request.match_info["occurrence"]
    if len(text) > MAX_ID_LENGTH:
        raise MalformedRequest(f"the id is longer than {MAX_ID_LENGTH} characters")
    return occurrence_id(text)


def _answer(occurrence: str, columns: Columns) -> web.Response:
    text = columns.get(EXPECTED_TOOLS_COLUMN)
    try:
        tools: object = read_tool_names(text)
    except AnnotationInvalid:
        tools = text
    return web.Response(
        text=json.dumps({"occurrence": occurrence, EXPECTED_TOOLS_COLUMN: tools}), content_type="application/json"
    )
