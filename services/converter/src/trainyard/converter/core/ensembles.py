"""An ensemble: models whose outputs are other models' inputs, and the rules that Triton holds one to. Pure.

Tensors of an ensemble have names of their own, which the steps map to those of their models. Source: the checks in Triton's
core (ensemble_utils, model_config_utils), and what a real Triton 2.51 was seen to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainyard.common.errors import InvalidInput, Problem
from trainyard.converter.core.triton import ModelConfig, Tensor

NEWEST = -1


@dataclass(frozen=True, slots=True)
class Step:
    model: str
    inputs: Mapping[str, str]
    """The model's input → the ensemble's tensor."""
    outputs: Mapping[str, str]
    version: int = NEWEST

    @property
    def where(self) -> str:
        return f"step {self.model}"


@dataclass(frozen=True, slots=True)
class Ensemble:
    config: ModelConfig
    steps: tuple[Step, ...]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.model for step in self.steps))


@dataclass(frozen=True, slots=True)
class _End:
    """Where a tensor comes from or goes to."""

    place: str
    tensor: Tensor
    """With its whole shape."""


def check(ensemble: Ensemble, models: Mapping[str, ModelConfig]) -> None:
    """Raises InvalidInput with every rule that Triton would refuse it for. `models`: those of the steps, by name."""
    config = ensemble.config
    if not ensemble.steps:
        raise InvalidInput.one("an ensemble has a step at least", "ensemble_scheduling")
    problems = [
        Problem(f"there is no model {step.model!r}", step.where) for step in ensemble.steps if step.model not in models
    ]
    if problems:
        raise InvalidInput(problems)
    for step in ensemble.steps:
        problems += _mapped(step, models[step.model])
        largest = models[step.model].max_batch_size
        if 0 < largest < config.max_batch_size:
            words = f"its max_batch_size {largest} is below the ensemble's {config.max_batch_size}"
            problems.append(Problem(words, step.where))
    if problems:  # what follows would speak of tensors that are not there
        raise InvalidInput(problems)
    problems += _connected(*_ends(ensemble, models))
    if problems:
        raise InvalidInput(problems)
    order(ensemble)


def order(ensemble: Ensemble) -> tuple[Step, ...]:
    """The steps, each behind those that make what it takes. Raises InvalidInput where they wait for one another."""
    known = {item.name for item in ensemble.config.inputs}
    waiting, found = list(ensemble.steps), []
    while waiting:
        ready = [step for step in waiting if known.issuperset(step.inputs.values())]
        if not ready:
            names = ", ".join(step.model for step in waiting)
            raise InvalidInput.one(f"the steps {names} wait for one another's tensors", "ensemble_scheduling")
        found += ready
        waiting = [step for step in waiting if step not in ready]
        known.update(name for step in ready for name in step.outputs.values())
    return tuple(found)


def _mapped(step: Step, model: ModelConfig) -> Iterator[Problem]:
    inputs, outputs = {item.name for item in model.inputs}, {item.name for item in model.outputs}
    for name in sorted(step.inputs.keys() - inputs):
        yield Problem(f"the model has no input {name!r}; it has {', '.join(sorted(inputs))}", step.where)
    for name in sorted(step.outputs.keys() - outputs):
        yield Problem(f"the model has no output {name!r}; it has {', '.join(sorted(outputs))}", step.where)
    for name in sorted(inputs - step.inputs.keys()):
        yield Problem(f"nothing is mapped to the model's input {name!r}", step.where)
    if not step.outputs:
        yield Problem("none of the model's outputs is mapped", step.where)


def _connected(makers: list[tuple[str, _End]], takers: list[tuple[str, _End]]) -> Iterator[Problem]:
    made: dict[str, _End] = {}
    for name, end in makers:
        if name in made:
            yield Problem(
                f"tensor {name!r} is made twice, by {made[name].place} and {end.place}", "ensemble_scheduling"
            )
        made.setdefault(name, end)
    taken = {name for name, _ in takers}
    for name in sorted(made.keys() - taken):
        yield Problem(f"nothing takes tensor {name!r}, which {made[name].place} makes", "ensemble_scheduling")
    for name, end in takers:
        maker = made.get(name)
        if maker is None:
            yield Problem(f"nothing makes tensor {name!r}", end.place)
        elif maker.tensor.dtype != end.tensor.dtype:
            words = f"tensor {name!r} is {maker.tensor.dtype} of {maker.place}, {end.tensor.dtype} is needed"
            yield Problem(words, end.place)
        elif not _agree(maker.tensor.shape, end.tensor.shape):
            made_as, needed = list(maker.tensor.shape), list(end.tensor.shape)
            yield Problem(f"tensor {name!r} has shape {made_as} of {maker.place}, {needed} is needed", end.place)


def _agree(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(one) == len(other) and all(a == b or -1 in {a, b} for a, b in zip(one, other, strict=True))


def _ends(
    ensemble: Ensemble, models: Mapping[str, ModelConfig]
) -> tuple[list[tuple[str, _End]], list[tuple[str, _End]]]:
    """By the ensemble's tensor: what makes it, and what takes it."""
    config = _whole(ensemble.config)
    makers = [(item.name, _End("the ensemble's input", item)) for item in config.inputs]
    takers = [(item.name, _End("the ensemble's output", item)) for item in config.outputs]
    for step in ensemble.steps:
        model = _whole(models[step.model])
        for ends, mapped, tensors in ((makers, step.outputs, model.outputs), (takers, step.inputs, model.inputs)):
            by_name = {item.name: item for item in tensors}
            ends += [(tensor, _End(step.where, by_name[name])) for name, tensor in mapped.items()]
    return makers, takers


def _whole(config: ModelConfig) -> ModelConfig:
    """With the batch in its shapes."""
    batch = (-1,) if config.max_batch_size else ()

    def tensors(items: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(Tensor(item.name, item.dtype, (*batch, *item.shape)) for item in items)

    return ModelConfig(config.name, config.max_batch_size, tensors(config.inputs), tensors(config.outputs))
