"""What often lies where a model should and is read by nothing here: what it is, and what helps. Pure."""

from __future__ import annotations

from collections.abc import Collection

from trainyard.common.errors import InvalidInput

_BEGINS = (
    (b"version https://git-lfs", "a pointer of Git LFS", "git lfs pull fetches the file"),
    (b"<!doctype html", "a page of the web", "what fetched it was sent something else"),
    (b"<html", "a page of the web", "what fetched it was sent something else"),
)
"""How a file begins that is no model at all."""
_NO_ONEFLOW = "it has no build for CPython 3.11 and newer, so nothing here reads it"
"""PyPI has a placeholder for 3.11, and builds up to CPython 3.10. Looked up on 2026-12-01."""
_FROM_ONEFLOW = (
    "where OneFlow runs, write the arrays (value.numpy()) as .safetensors, and name the same network in PyTorch "
    "(convert.model)"
)
_OF_ONEFLOW = frozenset({"snapshot_done", "pickled_data"})
"""Members of a folder. Source: oneflow.framework.check_point_v2."""
_ENDINGS = {
    "air": (
        "is MindSpore's format for Ascend, which MindSpore itself reads on an Ascend processor alone",
        "export the same network as MINDIR",
    ),
    "of": (f"is of OneFlow; {_NO_ONEFLOW}", _FROM_ONEFLOW),
}


def refuse_content(name: str, head: bytes) -> None:
    """`head`: the first bytes of the file. Raises InvalidInput."""
    for sign, what, help_ in _BEGINS:
        if head.lower().startswith(sign):
            raise InvalidInput.one(f"{name} is {what}, not a model", "convert.weights", help_)


def refuse_ending(name: str, ending: str) -> None:
    """Raises InvalidInput."""
    if ending in _ENDINGS:
        words, help_ = _ENDINGS[ending]
        raise InvalidInput.one(f"{name} {words}", "convert.weights", help_)


def refuse_folder(name: str, members: Collection[str]) -> None:
    """Raises InvalidInput."""
    if "__model__" in members:
        words = f"{name} is an inference model as Paddle 1 laid it out, under names that are not read here"
        help_ = (
            "with all parameters in one file, rename the two to model.pdmodel and model.pdiparams; else load it with "
            "paddle.static.load_inference_model and save it with save_inference_model, in Paddle 2"
        )
        raise InvalidInput.one(words, "convert.weights", help_)
    if not _OF_ONEFLOW.isdisjoint(members):
        raise InvalidInput.one(f"{name} is a folder of OneFlow; {_NO_ONEFLOW}", "convert.weights", _FROM_ONEFLOW)


def refuse_oneflow(name: str) -> None:
    """Parameters that OneFlow wrote under an ending that PyTorch has as well. Raises InvalidInput."""
    raise InvalidInput.one(f"{name} holds parameters of OneFlow; {_NO_ONEFLOW}", "convert.weights", _FROM_ONEFLOW)
