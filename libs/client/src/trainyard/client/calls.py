"""Every request that the gateway takes, built purely: method, path, parameters, body, and the model of the answer.

The sync and the async client send these; tests compare them. Nothing here opens a connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from trainyard.common.contract.inventory import Node
from trainyard.common.contract.views import (
    ConversionPage,
    ConversionView,
    EventPage,
    ExplanationView,
    JobPage,
    JobView,
    MatrixView,
    ModelPage,
    NodePage,
    RenderedView,
    SourcesView,
    SourceView,
    TemplatePage,
    TemplateView,
)

V = TypeVar("V", bound=BaseModel)
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call(Generic[V]):
    method: str
    path: str
    answer: type[V]
    params: dict[str, Any] = field(default_factory=dict)
    body: Document | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    """A body that is no document."""

    def request(self) -> dict[str, Any]:
        """What `httpx.Client.request` and its async twin take."""
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params,
            "json": self.body,
            "content": self.content,
            "headers": self.headers,
        }


def submit(document: Document, *, key: str | None = None) -> Call[JobView]:
    return Call("POST", "/v1/jobs", JobView, body=document, headers=_keyed(key))


def sources() -> Call[SourcesView]:
    return Call("GET", "/v1/sources", SourcesView)


def send_source(archive: bytes) -> Call[SourceView]:
    return Call("PUT", "/v1/sources", SourceView, headers={"Content-Type": "application/zip"}, content=archive)


def job(job_id: str) -> Call[JobView]:
    return Call("GET", f"/v1/jobs/{job_id}", JobView)


def jobs(**filters: Any) -> Call[JobPage]:
    """`state`, `framework`, `owner`, `project`, `name`, `label`, `since`, `until`, `cursor`, `limit`."""
    return Call("GET", "/v1/jobs", JobPage, params={k: v for k, v in filters.items() if v not in (None, [], ())})


def suspend(job_id: str, message: str = "") -> Call[JobView]:
    return Call("POST", f"/v1/jobs/{job_id}/suspend", JobView, params={"message": message} if message else {})


def resume(job_id: str, message: str = "") -> Call[JobView]:
    return Call("POST", f"/v1/jobs/{job_id}/resume", JobView, params={"message": message} if message else {})


def cancel(job_id: str, message: str = "") -> Call[JobView]:
    return Call("POST", f"/v1/jobs/{job_id}/cancel", JobView, params={"message": message} if message else {})


def resize(job_id: str, replicas: int, role: str | None = None, message: str = "") -> Call[JobView]:
    given: dict[str, Any] = {"role": role, "message": message or None}
    params = {"replicas": replicas, **{name: value for name, value in given.items() if value is not None}}
    return Call("POST", f"/v1/jobs/{job_id}/resize", JobView, params=params)


def retry(job_id: str, *, key: str | None = None) -> Call[JobView]:
    return Call("POST", f"/v1/jobs/{job_id}/retry", JobView, headers=_keyed(key))


def events(job_id: str, *, after: int = 0) -> Call[EventPage]:
    return Call("GET", f"/v1/jobs/{job_id}/events", EventPage, params={"after": after})


def convert(document: Document, *, key: str | None = None) -> Call[ConversionView]:
    return Call("POST", "/v1/conversions", ConversionView, body=document, headers=_keyed(key))


def conversion(conversion_id: str) -> Call[ConversionView]:
    return Call("GET", f"/v1/conversions/{conversion_id}", ConversionView)


def conversions(*, job_id: str | None = None, cursor: str | None = None, limit: int = 50) -> Call[ConversionPage]:
    params = {"job_id": job_id, "cursor": cursor, "limit": limit}
    return Call("GET", "/v1/conversions", ConversionPage, params={k: v for k, v in params.items() if v is not None})


def models() -> Call[ModelPage]:
    return Call("GET", "/v1/models", ModelPage)


def matrix(framework: str | None = None) -> Call[MatrixView]:
    return Call("GET", "/v1/matrix", MatrixView, params={"framework": framework} if framework else {})


def explain(document: Document, *, anywhere: bool = False) -> Call[ExplanationView]:
    query = {"anywhere": "true"} if anywhere else {}
    return Call("POST", "/v1/matrix/resolve", ExplanationView, params=query, body=document)


def nodes() -> Call[NodePage]:
    return Call("GET", "/v1/nodes", NodePage)


def avoid_node(name: str, span: str = "6h", message: str = "") -> Call[Node]:
    params = {"for": span, **({"message": message} if message else {})}
    return Call("POST", f"/v1/nodes/{quote(name, safe='')}/avoid", Node, params=params)


def forgive_node(name: str, message: str = "") -> Call[Node]:
    return Call(
        "POST", f"/v1/nodes/{quote(name, safe='')}/forgive", Node, params={"message": message} if message else {}
    )


def templates() -> Call[TemplatePage]:
    return Call("GET", "/v1/templates", TemplatePage)


def template(name: str, version: str | None = None) -> Call[TemplateView]:
    return Call("GET", _template_path(name, version), TemplateView)


def publish_template(document: Document) -> Call[TemplateView]:
    return Call("POST", "/v1/templates", TemplateView, body=document)


def delete_template(name: str, version: str | None = None) -> Call[TemplatePage]:
    return Call("DELETE", _template_path(name, version), TemplatePage)


def render_template(name: str, parameters: Document, version: str | None = None) -> Call[RenderedView]:
    body = {"parameters": parameters, **({"version": version} if version else {})}
    return Call("POST", f"{_template_path(name)}/render", RenderedView, body=body)


def _template_path(name: str, version: str | None = None) -> str:
    return "/".join(["/v1/templates", quote(name, safe=""), *([quote(version, safe="")] if version else [])])


def _keyed(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}
