"""Ensembles on this server: read from a configuration, and computed step by step through the models that are loaded."""

from __future__ import annotations

from collections.abc import Callable

from trainyard.common.errors import InvalidInput
from trainyard.converter.core import ensembles
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.ensembles import NEWEST, Ensemble, Step
from trainyard.converter.core.triton import ENSEMBLE_PLATFORM, ModelConfig, Tensor
from trainyard.converter.serving.configuration import Configuration, Slot
from trainyard.converter.serving.models import Compute, Model

Find = Callable[[str, str | None], Model]


def read(config: Configuration) -> Ensemble | None:
    """None: it is no ensemble."""
    if config.platform != ENSEMBLE_PLATFORM:
        return None
    steps = tuple(
        Step(item.model_name, dict(item.input_map), dict(item.output_map), int(item.model_version) or NEWEST)
        for item in config.message.ensemble_scheduling.step
    )
    return Ensemble(described(config), steps)


def described(config: Configuration) -> ModelConfig:
    """What the rules look at; types as the protocol names them."""
    batch = 1 if config.max_batch_size else 0

    def tensor(slot: Slot) -> Tensor:
        return Tensor(slot.name, slot.datatype, slot.shape[batch:])

    inputs, outputs = map(tensor, config.inputs.values()), map(tensor, config.outputs.values())
    return ModelConfig(config.name, config.max_batch_size, tuple(inputs), tuple(outputs))


def version_of(step: Step) -> str | None:
    return None if step.version == NEWEST else str(step.version)


def compute(ensemble: Ensemble, find: Find) -> Compute:
    """Models are looked up for each request: a step whose model was loaded anew is computed by the new one."""
    steps = ensembles.order(ensemble)

    def run(inputs: Case) -> dict[str, Array]:
        tensors = dict(inputs)
        for step in steps:
            model = find(step.model, version_of(step))
            try:
                outputs = model.infer({name: tensors[tensor] for name, tensor in step.inputs.items()})
            except InvalidInput as error:
                raise InvalidInput.one(str(error), step.where) from error
            tensors.update({tensor: outputs[name] for name, tensor in step.outputs.items()})
        return {item.name: tensors[item.name] for item in ensemble.config.outputs}

    return run
