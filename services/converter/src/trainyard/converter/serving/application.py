"""The routes of the Open Inference Protocol v2, as Triton has them. Errors are `{"error": …}` with a status."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trainyard.common.errors import InvalidInput, TrainyardError, UserError
from trainyard.common.version import VERSION
from trainyard.converter.serving import protocol
from trainyard.converter.serving.models import Model, Repository, config_document

HEADER_LENGTH = "Inference-Header-Content-Length"
EXTENSIONS = ["model_repository", "model_configuration", "binary_tensor_data", "statistics", "classification"]


def create(repository: Repository) -> Starlette:
    handlers = _Handlers(repository)
    model = "/v2/models/{name}"
    version = model + "/versions/{version}"
    routes = [
        Route("/v2", handlers.server),
        Route("/v2/", handlers.server),
        Route("/v2/health/live", handlers.live),
        Route("/v2/health/ready", handlers.ready),
        Route("/v2/models/stats", handlers.all_stats),
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
    return JSONResponse({"error": f"{request.method} {request.url.path} is not served here"}, status)


async def _unexpected(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"the server failed: {type(error).__name__}"}, 500)


class _Handlers:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    async def server(self, _: Request) -> Response:
        return JSONResponse({"name": "trainyard", "version": VERSION, "extensions": EXTENSIONS})

    async def live(self, _: Request) -> Response:
        return Response()

    async def ready(self, _: Request) -> Response:
        return Response(status_code=200 if not self._repository.faults else 400)

    async def index(self, _: Request) -> Response:
        return JSONResponse([self._entry(name) for name in self._repository.names()])

    def _model(self, request: Request) -> Model:
        return self._repository.get(request.path_params["name"], request.path_params.get("version"))

    def _entry(self, name: str) -> dict[str, str]:
        model = self._repository.models.get(name)
        if model is not None:
            return {"name": name, "version": model.version, "state": "READY"}
        return {"name": name, "state": "UNAVAILABLE", "reason": self._repository.faults.get(name, "unloaded")}

    async def load(self, request: Request) -> Response:
        # In Triton the body may bring a configuration or whole files; what is served here was proven and lies on disk.
        if protocol.parameters_of(await request.body()):
            raise InvalidInput.one("models are loaded from the repository only; `parameters` are not taken")
        await run_in_threadpool(self._repository.load, request.path_params["name"])
        return Response()

    async def unload(self, request: Request) -> Response:
        self._repository.unload(request.path_params["name"])
        return Response()

    async def metadata(self, request: Request) -> Response:
        model = self._model(request)
        document = config_document(model)
        batch = [-1] if model.config.max_batch_size else []

        def described(kind: str) -> list[dict[str, object]]:
            return [
                {
                    "name": item["name"],
                    "datatype": item["data_type"].removeprefix("TYPE_"),
                    "shape": [*batch, *map(int, item["dims"])],
                }
                for item in document[kind]
            ]

        return JSONResponse(
            {
                "name": model.name,
                "versions": [model.version],
                "platform": model.config.platform,
                "inputs": described("input"),
                "outputs": described("output"),
            }
        )

    async def model_ready(self, request: Request) -> Response:
        self._model(request)
        return Response()

    async def config(self, request: Request) -> Response:
        return JSONResponse(config_document(self._model(request)))

    async def stats(self, request: Request) -> Response:
        return JSONResponse({"model_stats": [_stats(self._model(request))]})

    async def all_stats(self, _: Request) -> Response:
        return JSONResponse({"model_stats": [_stats(model) for model in self._repository.models.values()]})

    async def infer(self, request: Request) -> Response:
        model = self._model(request)
        inputs, header = protocol.parse(await request.body(), request.headers.get(HEADER_LENGTH))
        outputs = await run_in_threadpool(model.infer, inputs)
        body, split = protocol.respond(model.name, model.version, outputs, header, model.labels)
        if split is None:
            return Response(body, media_type="application/json")
        return Response(body, media_type="application/octet-stream", headers={HEADER_LENGTH: str(split)})


def _stats(model: Model) -> dict[str, object]:
    return {
        "name": model.name,
        "version": model.version,
        "inference_count": model.inferences,
        "execution_count": model.executions,
        "inference_stats": {"success": {"count": model.executions, "ns": model.nanoseconds}},
    }
