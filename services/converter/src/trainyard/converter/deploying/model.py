"""What a conversion has made, as a deployment takes it: the Triton model, and what a server has to answer with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from pydantic import TypeAdapter, ValidationError
from tritonclient.grpc import model_config_pb2

from trainyard.common.contract.conversions import Precision, Tolerance
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.converter.adapters import proof
from trainyard.converter.adapters.proof import Proof
from trainyard.converter.core import precision
from trainyard.converter.core.cases import Array
from trainyard.converter.core.report import ConversionReport


@dataclass(frozen=True, slots=True)
class Converted:
    conversion_id: str
    name: str
    version: Path
    """The folder with the files of the version."""
    beside: Mapping[str, Path]
    """Files beside the versions: labels."""
    config: Any
    """Triton's ModelConfig."""
    proof: Proof
    tolerances: Mapping[str, Tolerance]
    """By output, as the conversion was held to."""
    precision: Precision | None = None
    """Of what is served, where it is another than the framework's; it has bounds of its own."""

    def configured(self, name: str, keep: int) -> Any:
        """Its configuration under a name, with so many versions served beside one another."""
        config = model_config_pb2.ModelConfig()
        config.CopyFrom(self.config)
        config.name = name
        config.version_policy.latest.num_versions = keep
        return config

    def error(self, outputs: Mapping[str, Array]) -> float:
        """The largest difference from the framework's own numbers. Raises TrainyardError where it is too large."""
        found = []
        for name, reference in self.proof.outputs.items():
            if name not in outputs:
                raise TrainyardError(f"the server answers without {name!r}")
            tolerance = self.tolerances.get(name)
            compared = precision.as_served(self.precision, self.proof.case, name, reference, outputs[name], tolerance)
            found.append(compared)
        wrong = [item for item in found if not item.passed]
        if wrong:
            raise TrainyardError(
                f"the server answers other numbers than the framework: {wrong[0].output}: {wrong[0].fault}"
            )
        return max((item.max_abs for item in found), default=0.0)


def read(folder: Path) -> Converted:
    """A conversion's folder. Raises InvalidInput that says what it lacks."""
    try:
        report = ConversionReport.model_validate_json((folder / "report.json").read_text())
    except (OSError, ValidationError, ValueError) as error:
        raise InvalidInput.one(
            f"{folder} holds no report of a conversion: {str(error).splitlines()[0]}", "ID"
        ) from error
    if report.verdict != "proven":
        raise InvalidInput.one(f"conversion {report.conversion_id} failed: {report.summary}", "ID")
    model = folder / "triton" / report.name
    if not (model / "config.pbtxt").is_file():
        raise InvalidInput.one(
            f"conversion {report.conversion_id} has no Triton model", "ID", "`yard convert MODEL --to triton` makes one"
        )
    kept = proof.read(folder)
    comparisons = report.contract.comparisons if report.contract else report.comparisons
    used = [item for item in comparisons if item["case"] == kept.case]
    return Converted(
        report.conversion_id,
        report.name,
        model / "1",
        {item.name: item for item in model.iterdir() if item.is_file() and item.name != "config.pbtxt"},
        text_format.Parse((model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig()),
        kept,
        {item["output"]: Tolerance(rtol=item["rtol"], atol=item["atol"]) for item in used},
        TypeAdapter(Precision).validate_python(report.lowered.precision) if report.lowered else None,
    )
