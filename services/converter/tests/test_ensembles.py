"""The rules of ensembles, as a table: each row is one that Triton refuses, or one that it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import repository
from trainyard.converter.core import ensembles
from trainyard.converter.core.ensembles import Ensemble, Step
from trainyard.converter.core.triton import ModelConfig, Tensor

X, Y = Tensor("x", "float32", (3,)), Tensor("y", "float32", (3,))
PLUS = ModelConfig("plus", 4, (X,), (Y,))
ROUND = ModelConfig("round", 4, (Tensor("x", "float32", (3,)),), (Tensor("y", "int64", (3,)),))
WIDE = ModelConfig("wide", 4, (Tensor("x", "float32", (-1,)),), (Tensor("y", "float32", (-1,)),))
SINGLE = ModelConfig("single", 0, (Tensor("x", "float32", (-1, 3)),), (Tensor("y", "float32", (-1, 3)),))
MODELS = {model.name: model for model in (PLUS, ROUND, WIDE, SINGLE)}


def ensemble(
    *steps: Step, inputs: tuple[Tensor, ...] = (X,), outputs: tuple[Tensor, ...] = (Y,), batch: int = 4
) -> Ensemble:
    return Ensemble(ModelConfig("both", batch, inputs, outputs), steps)


FIRST, SECOND = Step("plus", {"x": "x"}, {"y": "t"}), Step("plus", {"x": "t"}, {"y": "y"})
ONLY = Step("plus", {"x": "x"}, {"y": "y"})


@pytest.mark.parametrize(
    "taken",
    [
        ensemble(FIRST, SECOND),
        ensemble(SECOND, FIRST),  # their order in the file is nothing
        ensemble(FIRST, Step("wide", {"x": "t"}, {"y": "y"})),
        ensemble(Step("wide", {"x": "x"}, {"y": "y"}), outputs=(Tensor("y", "float32", (-1,)),)),
        ensemble(Step("single", {"x": "x"}, {"y": "y"}), batch=8),  # which has no largest batch
        ensemble(ONLY, inputs=SINGLE.inputs, outputs=SINGLE.outputs, batch=0),  # the batch is one of its dimensions
        ensemble(ONLY, batch=2),
    ],
)
def test_what_is_whole_is_taken(taken: Ensemble) -> None:
    ensembles.check(taken, MODELS)
    order = ensembles.order(taken)
    assert sorted(step.model for step in order) == sorted(step.model for step in taken.steps)
    assert order[0].inputs == {"x": "x"}


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (ensemble(), "an ensemble has a step at least"),
        (ensemble(Step("nobody", {"x": "x"}, {"y": "y"})), "step nobody: there is no model 'nobody'"),
        (ensemble(Step("plus", {}, {"y": "y"})), "step plus: nothing is mapped to the model's input 'x'"),
        (ensemble(Step("plus", {"x": "x"}, {})), "step plus: none of the model's outputs is mapped"),
        (ensemble(Step("plus", {"x": "x", "q": "x"}, {"y": "y"})), "the model has no input 'q'; it has x"),
        (ensemble(Step("plus", {"x": "x"}, {"q": "y"})), "the model has no output 'q'; it has y"),
        (ensemble(Step("round", {"x": "x"}, {"y": "y"})), "tensor 'y' is int64 of step round, float32 is needed"),
        (ensemble(ONLY, outputs=(Tensor("y", "float32", (4,)),)), "has shape [-1, 3] of step plus, [-1, 4] is needed"),
        (ensemble(ONLY, outputs=(Tensor("y", "float32", (3, 1)),)), "[-1, 3, 1] is needed"),
        (ensemble(ONLY, batch=0), "tensor 'y' has shape [-1, 3] of step plus, [3] is needed"),
        (ensemble(ONLY, batch=8), "step plus: its max_batch_size 4 is below the ensemble's 8"),
        (ensemble(ONLY, ONLY), "tensor 'y' is made twice, by step plus and step plus"),
        (ensemble(ONLY, replace(FIRST, outputs={"y": "x"})), "tensor 'x' is made twice, by the ensemble's input"),
        (ensemble(ONLY, FIRST), "nothing takes tensor 't', which step plus makes"),
        (ensemble(ONLY, inputs=(X, Tensor("w", "float32", (3,)))), "nothing takes tensor 'w'"),
        (ensemble(SECOND), "step plus: nothing makes tensor 't'"),
        (ensemble(ONLY, outputs=(Y, Tensor("w", "float32", (3,)))), "the ensemble's output: nothing makes tensor 'w'"),
        (
            ensemble(ONLY, Step("plus", {"x": "b"}, {"y": "a"}), Step("plus", {"x": "a"}, {"y": "b"})),
            "the steps plus, plus wait for one another's tensors",
        ),
    ],
)
def test_what_triton_would_refuse(refused: Ensemble, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ensembles.check(refused, MODELS)
    assert words in str(caught.value)


def test_an_ensemble_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    repository.write_ensemble(tmp_path, ensemble(FIRST, SECOND), MODELS)
    assert (tmp_path / "both" / "1").is_dir()
    text = (tmp_path / "both" / "config.pbtxt").read_text()
    assert 'platform: "ensemble"' in text
    assert "instance_group" not in text  # an ensemble has none
    with pytest.raises(InvalidInput, match="is made twice"):
        repository.write_ensemble(tmp_path, replace(ensemble(ONLY, ONLY), config=replace(PLUS, name="other")), MODELS)
    assert not (tmp_path / "other").exists()
