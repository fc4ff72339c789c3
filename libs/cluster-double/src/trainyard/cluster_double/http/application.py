"""The HTTP side of the double: one handler for all paths, since what is served changes while it runs.

aiohttp rather than an ASGI stack: a test must be able to cut a connection at a chosen moment, and ASGI hides the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

import aiohttp
from aiohttp import web

from trainyard.cluster_double.api import read
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import list_options, number
from trainyard.cluster_double.core import discovery
from trainyard.cluster_double.core.errors import ApiError, method_not_allowed
from trainyard.cluster_double.core.objects import Json, meta
from trainyard.cluster_double.http import answers, logs, watching
from trainyard.cluster_double.http.answers import Call
from trainyard.cluster_double.http.faults import Faults, Plan
from trainyard.cluster_double.http.journal import Journal, Seen
from trainyard.cluster_double.http.paths import Target, UnknownGroup, UnknownResource, parse

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_LONGEST_WATCH = 1800.0
_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Cut(Exception):
    """The connection was cut on purpose."""


class Application:
    def __init__(self, cluster: Cluster, faults: Faults, journal: Journal) -> None:
        self._cluster = cluster
        self._faults = faults
        self._journal = journal
        self._watching: set[asyncio.Transport] = set()
        self._session: aiohttp.ClientSession | None = None

    def build(self) -> web.Application:
        application = web.Application(client_max_size=64 * 2**20)
        application.router.add_route("*", "/{path:.*}", self._handle)
        application.on_cleanup.append(self._close)
        return application

    def cut_watches(self) -> None:
        """In the server's loop."""
        for transport in list(self._watching):
            transport.abort()

    async def _close(self, _: web.Application) -> None:
        if self._session is not None:
            await self._session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        code = 0
        try:
            response = await self._respond(request)
            code = response.status
            return response
        except Cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        finally:
            seen = Seen(
                time.time(),
                request.method,
                request.path,
                request.query_string,
                code,
                request.headers.get("User-Agent", ""),
                request.content_type,
            )
            self._journal.add(seen)

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        query = f"?{request.query_string}" if request.query_string else ""
        # The scripted kubelet is part of the cluster: trouble that is planned by number is meant for others.
        spared = request.headers.get("User-Agent", "").startswith("scripted-kubelet")
        plan = None if spared else self._faults.next(f"{request.method} {request.path}{query}")
        if self._faults.away or (plan is not None and plan.drop):
            raise Cut
        if plan is not None and plan.delay:
            await asyncio.sleep(plan.delay)
        if plan is not None and plan.code:
            return _status(_planned(plan))
        try:
            return await self._serve(request)
        except ApiError as fault:
            return _status(fault)
        except UnknownResource:
            return _status(answers.unknown())
        except UnknownGroup:
            return web.Response(status=404, text="404 page not found\n")

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        target = parse(request.path, self._cluster.registry) if request.path != _REVIEW else None
        if target is None:
            return await self._plain(request)
        if target.subresource == "log":
            return await self._log(request, target)
        call = Call(
            method=request.method,
            target=target,
            query=request.query,
            body=await request.read(),
            media=request.content_type if "Content-Type" in request.headers else "",
            accept=request.headers.get("Accept", ""),
            manager=request.headers.get("User-Agent", "").split("/")[0] or "unknown",
        )
        if call.query.get("watch") in {"1", "true"} and call.method == "GET":
            return await self._watch(request, call)
        answer = answers.answer(self._cluster, call)
        headers = [("Warning", f'299 - "{_quoted(warning)}"') for warning in answer.warnings]
        return web.Response(
            status=answer.code,
            body=json.dumps(answer.document).encode(),
            content_type="application/json",
            headers=headers,
        )

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        wish = self._wish(call)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        transport = request.transport
        await response.prepare(request)
        if transport is not None:
            self._watching.add(transport)
        try:
            async for line in watching.lines(self._cluster, wish, lambda: self._faults.frozen):
                await response.write(line)
            await response.write_eof()
        except ConnectionError:
            pass  # the client went, or a test cut it off
        finally:
            if transport is not None:
                self._watching.discard(transport)
        return response

    def _wish(self, call: Call) -> watching.Wish:
        target, query = call.target, call.query
        options = list_options({**query, "resourceVersionMatch": ""})
        if options.version and not options.version.isdecimal():
            # Lists answer 400 to the same; a watch has always been told so.
            why = f'resourceVersion: Invalid value: "{options.version}": strconv.ParseUint: parsing "{options.version}"'
            raise ApiError(500, "", f"{why}: invalid syntax")
        fields = options.fields
        if target.name:
            fields = f"metadata.name={target.name}"
        chosen = read.selection(
            target.resource, list_options({"labelSelector": options.labels, "fieldSelector": fields})
        )

        def as_table(obj: Json) -> Json:
            return answers.as_table(self._cluster, call, [obj], {"resourceVersion": meta(obj)["resourceVersion"]})

        return watching.Wish(
            resource=target.resource,
            namespace=target.namespace,
            chosen=chosen,
            version=options.version,
            timeout=float(number(query.get("timeoutSeconds"), 0)) or _LONGEST_WATCH,
            bookmarks=query.get("allowWatchBookmarks") in {"1", "true"},
            initial=query.get("sendInitialEvents") in {"1", "true"},
            render=as_table if answers.wants_table(call.accept) else None,
        )

    async def _log(self, request: web.Request, target: Target) -> web.StreamResponse:
        if request.method != "GET":
            raise method_not_allowed()
        url = logs.kubelet_url(self._cluster, target.namespace, target.name, request.query)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        if url is not None:
            if self._session is None:  # as many logs at once as are asked for
                self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
            with contextlib.suppress(ConnectionError):  # the client goes while a log is followed
                async for chunk in logs.lines(self._session, url, request.query):
                    if not response.prepared:
                        await response.prepare(request)
                    await response.write(chunk)
                if not response.prepared:
                    await response.prepare(request)
                await response.write_eof()
            return response
        return web.Response(status=204)

    async def _plain(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.path.strip("/")
        if path == _REVIEW and request.method == "POST":
            answer = answers.review(self._cluster, await request.read(), request.content_type)
            return web.json_response(answer, status=201)
        if path in {"/healthz", "/livez", "/readyz"}:
            return web.Response(text="ok")
        document = discovery.document(self._cluster.registry, path, request.headers.get("Accept", ""), request.host)
        if document is None:
            return web.Response(status=404, text="404 page not found\n")
        response = web.json_response(document)
        if document.get("kind") == "APIGroupDiscoveryList":
            # Clients tell the aggregated form from the older one by this alone.
            response.headers["Content-Type"] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return response


def _status(fault: ApiError) -> web.Response:
    return web.json_response(fault.status(), status=fault.code, headers=fault.headers)


def _planned(plan: Plan) -> ApiError:
    reason = _REASONS.get(plan.code, "InternalError")
    headers = {} if plan.retry_after is None else {"Retry-After": str(plan.retry_after)}
    details: Json | None = None if plan.retry_after is None else {"retryAfterSeconds": plan.retry_after}
    return ApiError(plan.code, reason, "this answer was planned by a test", details, headers)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
