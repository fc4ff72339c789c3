"""What comes back: a model, or an error of our tree with the gateway's own words."""

from __future__ import annotations

from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from trainyard.common.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Problem,
    TrainyardError,
    Unauthorized,
    Unavailable,
    UserError,
)

V = TypeVar("V", bound=BaseModel)

_BY_STATUS: dict[int, type[UserError]] = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict}


def read(response: httpx.Response, model: type[V]) -> V:
    """The model of a good answer. Raises the error that a bad one stands for."""
    raise_for_problem(response)
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        raise TrainyardError(
            f"{response.request.url} answered what this client does not understand: is it a Trainyard gateway of this "
            f"version? ({error.error_count()} fields differ)"
        ) from error


def raise_for_problem(response: httpx.Response) -> None:
    if response.is_success:
        return
    try:
        body = response.json()
        detail = str(body["detail"])
    except (ValueError, KeyError, TypeError):
        body, detail = {}, f"{response.request.url} answered {response.status_code} {response.reason_phrase}"
    if response.status_code in {413, 422} and body.get("errors"):
        raise InvalidInput(
            [
                Problem(item["detail"], item["pointer"].strip("/").replace("/", "."), item.get("hint", ""))
                for item in body["errors"]
            ]
        )
    if response.status_code in {429, 502, 503, 504}:
        raise Unavailable(detail, delay=_delay(response))
    raise _BY_STATUS.get(response.status_code, UserError if response.is_client_error else TrainyardError)(detail)


def unreachable(url: str, error: httpx.TransportError) -> Unavailable:
    return Unavailable(f"nothing answers at {url} ({_cause(error)}): start it with `yard up`, or set TRAINYARD_URL")


def _cause(error: httpx.TransportError) -> str:
    return str(error) or type(error).__name__


def _delay(response: httpx.Response) -> float:
    try:
        return float(response.headers.get("retry-after", 1))
    except ValueError:
        return 1.0
