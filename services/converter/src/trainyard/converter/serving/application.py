"""The routes of the Open Inference Protocol v2, as Triton has them. Errors are `{"error": …}` with a status."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trainyard.common.errors import TrainyardError, UserError
from trainyard.converter.serving import about, protocol
from trainyard.converter.serving.bodies import body_of
from trainyard.converter.serving.models import Model
from trainyard.converter.serving.repository import Entry, Repository

HEADER_LENGTH = "Inference-Header-Content-Length"


def create(repository: Repository, limit: int = about.REQUEST_BYTES) -> Starlette:
    """`limit`: bytes that a request may have, unpacked."""
    handlers = _Handlers(repository, limit)
    model = "/v2/models/{name}"
    version = model + "/versions/{version}"
    routes = [
        Route("/v2", handlers.server),
        Route("/v2/", handlers.server),
        Route("/v2/health/live", handlers.live),
        Route("/v2/health/ready", handlers.ready),
        Route("/v2/models/stats", handlers.stats),
        Route("/v2/repository/index", handlers.index, methods=["POST"]),
        Route("/v2/repository/models/{name}/load", handlers.load, methods=["POST"]),
        Route("/v2/repository/models/{name}/unload", handlers.unload, methods=["POST"]),
    ]
    for base in (model, version):
        routes += [
            Route(base, handlers.metadata),
            Route(base + "/ready", handlers.model_ready),
            Route(base + "/config", handlers.config),
            Route(base + "/stats", handlers.stats),
            Route(base + "/infer", handlers.infer, methods=["POST"]),
        ]
    faults = {TrainyardError: _error, HTTPException: _no_route, Exception: _unexpected}
    return Starlette(routes=routes, exception_handlers=faults)


async def _error(_: Request, error: Exception) -> Response:
    # Triton answers every mistake of a request with 400.
    status = error.status if isinstance(error, UserError) and error.status == 404 else 400
    return JSONResponse({"error": str(error)}, status)


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    told = f"{request.method} {request.url.path} is not served here"
    return JSONResponse({"error": error.detail if isinstance(error, HTTPException) and status == 413 else told}, status)


async def _unexpected(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"the server failed: {type(error).__name__}"}, 500)


class _Handlers:
    def __init__(self, repository: Repository, limit: int) -> None:
        self._repository = repository
        self._limit = limit

    async def server(self, _: Request) -> Response:
        return JSONResponse({"name": about.NAME, "version": about.VERSION, "extensions": list(about.EXTENSIONS)})

    async def live(self, _: Request) -> Response:
        return Response()

    async def ready(self, _: Request) -> Response:
        return Response(status_code=200 if not self._repository.faults else 400)

    def _model(self, request: Request) -> Model:
        return self._repository.get(request.path_params["name"], request.path_params.get("version"))

    async def index(self, request: Request) -> Response:
        asked = protocol.object_of(await body_of(request, self._limit))
        return JSONResponse([_entry(item) for item in self._repository.index(ready_only=asked.get("ready") is True)])

    async def load(self, request: Request) -> Response:
        asked = protocol.parameters_of(protocol.object_of(await body_of(request, self._limit)))
        await run_in_threadpool(self._repository.load, request.path_params["name"], asked)
        return Response()

    async def unload(self, request: Request) -> Response:
        asked = protocol.parameters_of(protocol.object_of(await body_of(request, self._limit)))
        await run_in_threadpool(self._repository.unload, request.path_params["name"], asked)
        return Response()

    async def metadata(self, request: Request) -> Response:
        model = self._model(request)
        versions = [model.version] if "version" in request.path_params else self._repository.versions_of(model.name)
        inputs, outputs = (
            [{"name": slot.name, "datatype": slot.datatype, "shape": list(slot.shape)} for slot in slots.values()]
            for slots in (model.configuration.inputs, model.configuration.outputs)
        )
        return JSONResponse(
            {
                "name": model.name,
                "versions": [str(version) for version in versions],
                "platform": model.configuration.platform,
                "inputs": inputs,
                "outputs": outputs,
            }
        )

    async def model_ready(self, request: Request) -> Response:
        self._model(request)
        return Response()

    async def config(self, request: Request) -> Response:
        return JSONResponse(self._model(request).configuration.document())

    async def stats(self, request: Request) -> Response:
        named = request.path_params.get("name", ""), request.path_params.get("version", "")
        return JSONResponse({"model_stats": [_stats(model) for model in self._repository.all(*named)]})

    async def infer(self, request: Request) -> Response:
        length = request.headers.get(HEADER_LENGTH)
        body, split = await run_in_threadpool(_infer, self._model(request), await body_of(request, self._limit), length)
        if split is None:
            return Response(body, media_type="application/json")
        return Response(body, media_type="application/octet-stream", headers={HEADER_LENGTH: str(split)})


def _infer(model: Model, body: bytes, header_length: str | None) -> tuple[bytes, int | None]:
    """In a thread, tensors to tensors: others' requests don't wait for a large one to be read."""
    inputs, header = protocol.parse(body, header_length)
    return protocol.respond(model, model.infer(inputs), header)


def _entry(item: Entry) -> dict[str, str]:
    found = {"name": item.name, "state": item.state}
    if item.version is not None:
        found["version"] = str(item.version)
    if item.reason:
        found["reason"] = item.reason
    return found


def _stats(model: Model) -> dict[str, object]:
    statistics = model.statistics
    return {
        "name": model.name,
        "version": str(model.version),
        "inference_count": statistics.inferences,
        "execution_count": statistics.executions,
        "inference_stats": {
            "success": {"count": statistics.successes, "ns": statistics.nanoseconds},
            "fail": {"count": statistics.failures, "ns": statistics.failed_nanoseconds},
            "cache_hit": {"count": statistics.hits},
            "cache_miss": {"count": statistics.misses},
        },
    }
