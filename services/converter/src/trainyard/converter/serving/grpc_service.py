"""The Open Inference Protocol over gRPC: what `tritonclient.grpc` asks, answered by the same models as over HTTP.

The messages are those that tritonclient ships, so they are Triton's own by construction. The methods stand in one literal
table, without the generated servicer: its other methods (shared memory, traces) would have to be stubs of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import structlog
from tritonclient.grpc import service_pb2 as pb

from trainyard.common.errors import InvalidInput, NotFound, TrainyardError, UserError
from trainyard.converter.serving import about, grpc_tensors
from trainyard.converter.serving.models import Model
from trainyard.converter.serving.repository import Repository

log = structlog.get_logger()

SERVICE = "inference.GRPCInferenceService"


def create(repository: Repository, address: str, limit: int = about.REQUEST_BYTES) -> grpc.aio.Server:
    """Bound to `address`, not yet started. Raises TrainyardError where that cannot be listened on."""
    options = [
        ("grpc.max_receive_message_length", limit),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # else a second server would share the port, and the requests with it
    ]
    server = grpc.aio.server(options=options)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, _methods(_Service(repository)))])
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise TrainyardError(
            f"cannot listen on {address} for gRPC: choose another --grpc-port, or 0 for none"
        ) from error
    return server


class _Service:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    async def server_live(self, _: Any) -> Any:
        return pb.ServerLiveResponse(live=True)

    async def server_ready(self, _: Any) -> Any:
        return pb.ServerReadyResponse(ready=not self._repository.faults)

    async def server_metadata(self, _: Any) -> Any:
        return pb.ServerMetadataResponse(name=about.NAME, version=about.VERSION, extensions=about.EXTENSIONS)

    async def model_ready(self, request: Any) -> Any:
        try:
            self._repository.get(request.name, request.version)
        except NotFound:
            return pb.ModelReadyResponse(ready=False)
        return pb.ModelReadyResponse(ready=True)

    async def model_metadata(self, request: Any) -> Any:
        model = self._repository.get(request.name, request.version)
        versions = [model.version] if request.version else self._repository.versions_of(model.name)
        answer = pb.ModelMetadataResponse(
            name=model.name, versions=map(str, versions), platform=model.configuration.platform
        )
        for told, slots in ((answer.inputs, model.configuration.inputs), (answer.outputs, model.configuration.outputs)):
            for slot in slots.values():
                told.add(name=slot.name, datatype=slot.datatype, shape=slot.shape)
        return answer

    async def model_config(self, request: Any) -> Any:
        return pb.ModelConfigResponse(config=self._repository.get(request.name, request.version).configuration.message)

    async def statistics(self, request: Any) -> Any:
        models = self._repository.all(request.name, request.version)
        return pb.ModelStatisticsResponse(model_stats=map(_statistics, models))

    async def infer(self, request: Any) -> Any:
        model = self._repository.get(request.model_name, request.model_version)
        return await asyncio.to_thread(_infer, model, request)

    async def stream(self, requests: AsyncIterator[Any], _: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        """One answer a request, in order. A mistake is told in the stream and does not end it."""
        async for request in requests:
            try:
                answer = await self.infer(request)
            except Exception as error:  # noqa: BLE001 - told to the client, whatever it is
                answer = pb.ModelInferResponse(id=request.id)
                yield pb.ModelStreamInferResponse(error_message=_told(error)[1], infer_response=answer)
                continue
            if request.parameters["triton_enable_empty_final_response"].bool_param:
                answer.parameters["triton_final_response"].bool_param = True
            yield pb.ModelStreamInferResponse(infer_response=answer)

    async def index(self, request: Any) -> Any:
        answer = pb.RepositoryIndexResponse()
        for item in self._repository.index(ready_only=request.ready):
            version = "" if item.version is None else str(item.version)
            answer.models.add(name=item.name, version=version, state=item.state, reason=item.reason)
        return answer

    async def load(self, request: Any) -> Any:
        await asyncio.to_thread(self._repository.load, request.model_name, _parameters(request))
        return pb.RepositoryModelLoadResponse()

    async def unload(self, request: Any) -> Any:
        await asyncio.to_thread(self._repository.unload, request.model_name, _parameters(request))
        return pb.RepositoryModelUnloadResponse()


def _infer(model: Model, request: Any) -> Any:
    """In a thread, tensors to tensors."""
    return grpc_tensors.respond(model, model.infer(grpc_tensors.parse(request)), request)


def _parameters(request: Any) -> dict[str, object]:
    return {name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in request.parameters.items()}


def _statistics(model: Model) -> Any:
    found, told = model.statistics, pb.ModelStatistics(name=model.name, version=str(model.version))
    told.inference_count, told.execution_count = found.inferences, found.executions
    told.inference_stats.success.count, told.inference_stats.success.ns = found.successes, found.nanoseconds
    told.inference_stats.fail.count, told.inference_stats.fail.ns = found.failures, found.failed_nanoseconds
    told.inference_stats.cache_hit.count, told.inference_stats.cache_miss.count = found.hits, found.misses
    return told


Method = Callable[[Any], Awaitable[Any]]


def _methods(service: _Service) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    unary: dict[str, tuple[Method, Any]] = {
        "ServerLive": (service.server_live, pb.ServerLiveRequest),
        "ServerReady": (service.server_ready, pb.ServerReadyRequest),
        "ServerMetadata": (service.server_metadata, pb.ServerMetadataRequest),
        "ModelReady": (service.model_ready, pb.ModelReadyRequest),
        "ModelMetadata": (service.model_metadata, pb.ModelMetadataRequest),
        "ModelConfig": (service.model_config, pb.ModelConfigRequest),
        "ModelStatistics": (service.statistics, pb.ModelStatisticsRequest),
        "ModelInfer": (service.infer, pb.ModelInferRequest),
        "RepositoryIndex": (service.index, pb.RepositoryIndexRequest),
        "RepositoryModelLoad": (service.load, pb.RepositoryModelLoadRequest),
        "RepositoryModelUnload": (service.unload, pb.RepositoryModelUnloadRequest),
    }
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(_answering(method), request.FromString, _serialized)
        for name, (method, request) in unary.items()
    }
    handlers["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
        service.stream, pb.ModelInferRequest.FromString, _serialized
    )
    return handlers


def _serialized(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _answering(method: Method) -> Any:
    async def answer(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            return await method(request)
        except Exception as error:  # noqa: BLE001 - told to the client, whatever it is
            await context.abort(*_told(error))

    return answer


def _told(error: Exception) -> tuple[grpc.StatusCode, str]:
    """The status and the sentence that a client is given."""
    match error:
        case NotFound():
            return grpc.StatusCode.NOT_FOUND, str(error)
        case InvalidInput() | UserError():
            return grpc.StatusCode.INVALID_ARGUMENT, str(error)
        case TrainyardError():
            return grpc.StatusCode.INTERNAL, str(error)
    log.error("request failed", exc_info=error)
    return grpc.StatusCode.INTERNAL, f"the server failed: {type(error).__name__}"
