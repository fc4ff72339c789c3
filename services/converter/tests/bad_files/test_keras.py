"""Keras files that mean harm or are broken: code, other files, and absurd sizes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=4 * 2**30)


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("keras", "tensorflow")


BAD = {
    "lambda.keras": "lambda.keras holds code (a Lambda layer); convert.trust lets it",
    "activation.keras": "activation.keras holds code (a Lambda layer); convert.trust lets it",
    "builtin.keras": "builtin.keras calls Python's exec; convert.trust lets it",
    "foreign.keras": "foreign.keras takes system from os, which is no part of Keras",
    "utility.keras": "utility.keras takes get_file from keras.utils, which is no part of Keras that models are made of",
    "reading.keras": "reading.keras reads its vocabulary from /",
    "linked.keras": "linked.keras: the weights /kernel lie in another file: save the model as one file",
    "deep.keras": "deep.keras cannot be read as keras: maximum recursion depth exceeded",
    "inner.keras": "inner.keras takes loss from __main__, which is no part of Keras",
    "no_json.keras": "no_json.keras cannot be read as keras: Expecting property name",
    "no_weights.keras": "no_weights.keras cannot be read as keras: Unable to synchronously open file",
    "lambda.h5": "lambda.h5 holds code (a Lambda layer); convert.trust lets it",
    "old_lambda.h5": "old_lambda.h5 holds code (a Lambda layer); convert.trust lets it",
    "foreign.h5": "foreign.h5 takes system from os, which is no part of Keras",
    "operator.h5": "operator.h5 calls io.write_file, which may reach files or code; convert.trust lets it",
    "linked.h5": "linked.h5: the weights /model_weights/dense/kernel lie in another file",
    "stored_elsewhere.h5": "stored_elsewhere.h5: the weights /model_weights/dense/kernel lie in another file",
    "virtual.h5": "virtual.h5: the weights /model_weights/dense/kernel lie in another file",
    "huge.h5": "declares 4.00 TB but only 0.00 B are stored on disk",
    "deep.h5": "deep.h5 cannot be read as keras-h5: maximum recursion depth exceeded",
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_keras_file_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    shutil.copy(made / kind, given)
    said = await refusal(kind, limits=LIMITS)
    assert BAD[kind] in said
    assert not (made / "HARM").exists()


async def test_what_lies_in_an_archive_stays_in_it(given: Path, made: Path, convert_file: Any) -> None:
    shutil.copy(made / "whole.keras", given)
    proven = await convert_file("whole.keras", limits=LIMITS)
    assert proven.report.verdict == "proven"
    assert not list(given.parent.rglob("HARM"))
    assert not (made / "HARM").exists()


async def test_an_honest_keras_file_is_converted(given: Path, made: Path, convert_file: Any) -> None:
    shutil.copy(made / "honest.h5", given)
    proven = await convert_file("honest.h5", limits=LIMITS)
    assert proven.report.verdict == "proven"


async def test_trusted_code_runs(given: Path, made: Path, convert_file: Any) -> None:
    shutil.copy(made / "old_lambda.h5", given)
    await convert_file("old_lambda.h5", trust=True, limits=LIMITS)
    (made / "HARM").unlink()  # so it is seen where code runs
