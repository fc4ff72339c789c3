"""What a conversion costs beyond the bare exporter: its seconds without those of the proof, by the seconds of a script that
reads the same file and calls the exporter, in a process of its own by the same interpreter.

    python tests/bench/bench_conversion.py IMAGES [rounds]

IMAGES: where environments are built, or were. Prints JSON, one row a model: seconds of the script and of the conversion, the
share of the proof, and the ratio; medians of the rounds, in each of which both run one after the other.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from trainyard.common import ids
from trainyard.common.clock import SystemClock
from trainyard.common.contract.conversions import ConversionSpec, ConvertSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import convert
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.preparation import Tools

ROOT = Path(__file__).parents[2]
ZOO = ROOT / "services" / "converter" / "tests" / "zoo"
NET = """
from torch import nn


def build():
    def block(width, wider):
        return nn.Sequential(
            nn.Conv2d(width, wider, 3, 2, 1), nn.BatchNorm2d(wider), nn.ReLU(), nn.Conv2d(wider, wider, 3, 1, 1), nn.ReLU()
        )

    widths = [3, 32, 64, 128, 256]
    blocks = [block(width, wider) for width, wider in zip(widths, widths[1:])]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
"""
SAVE_NET = "import torch, net; torch.manual_seed(0); torch.save(net.build().state_dict(), 'net.pt')"
BARE = {
    "torch": """
import torch, net
module = net.build()
module.load_state_dict(torch.load("net.pt", weights_only=True))
shapes = ({0: torch.export.Dim("batch")},)
torch.onnx.export(
    module.eval(), (torch.ones(2, 3, 64, 64),), "bare.onnx", dynamo=True, external_data=False, dynamic_shapes=shapes
)
""",
    "keras": """
import keras, onnx, tensorflow as tf, tf2onnx
net = keras.saving.load_model("two.keras", compile=False)
signature = [tf.TensorSpec([None, 16, 16, 3], "float32", "image")]
function = tf.function(lambda image: net(image, training=False), input_signature=signature)
onnx.save(tf2onnx.convert.from_function(function, signature, opset=18)[0], "bare.onnx")
""",
    "paddle": """
import paddle, paddle2onnx
paddle2onnx.export("net.json", "net.pdiparams", "bare.onnx", opset_version=19, optimize_tool="None")
""",
    "sklearn": """
import joblib, onnx
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
forest = joblib.load("forest.joblib")
kinds = [("x", FloatTensorType([None, forest.n_features_in_]))]
onnx.save(to_onnx(forest, initial_types=kinds, options={id(forest): {"zipmap": False}}), "bare.onnx")
""",
}
PICTURE = [{"name": "x", "shape": ["batch", 3, 64, 64]}]
BLOCKS: dict[str, dict[str, Any]] = {
    "torch": {"weights": "net.pt", "model": "net:build", "inputs": PICTURE},
    "keras": {"weights": "two.keras"},
    "paddle": {"weights": "net.json"},
    "sklearn": {"weights": "forest.joblib", "trust": True},
}
MAKERS = {"keras": "tensorflow", "paddle": "paddle", "sklearn": "classical"}


def main() -> None:
    images, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory(prefix="trainyard-bench-") as folder:
        rows = {kind: measure(kind, images, rounds, Path(folder) / kind) for kind in BARE}
    print(json.dumps(rows, indent=1))


def measure(kind: str, images: Path, rounds: int, folder: Path) -> dict[str, float]:
    python = made(kind, images, folder)
    bare, whole, proof = [], [], []
    for number in range(rounds):
        began = time.perf_counter()
        subprocess.run([python, "-c", BARE[kind]], cwd=folder, check=True, capture_output=True, timeout=300)
        bare.append(time.perf_counter() - began)
        report = asyncio.run(converted(kind, images, folder, folder / f"state-{number}"))
        whole.append(report.seconds)
        proof.append(sum(step.proof_seconds for step in report.steps))
    script, without = statistics.median(bare), statistics.median(a - b for a, b in zip(whole, proof, strict=True))
    return {
        "script_seconds": round(script, 2),
        "conversion_seconds": round(statistics.median(whole), 2),
        "proof_seconds": round(statistics.median(proof), 2),
        "ratio_without_proof": round(without / script, 2),
    }


def made(kind: str, images: Path, folder: Path) -> Path:
    """The interpreter; the model lies in the folder afterwards."""
    folder.mkdir()
    home = ROOT / "deploy" / ("images" if kind == "torch" else "converters")
    recipe = catalogue.read(home, MAKERS.get(kind, "pytorch-cpu"))
    python = cache.ensure(recipe, images, lambda words: None).python
    if kind == "torch":
        (folder / "net.py").write_text(NET)
        subprocess.run([python, "-c", SAVE_NET], cwd=folder, check=True, timeout=300)
    else:
        maker = ZOO / f"make_{MAKERS[kind]}.py"
        subprocess.run([python, maker, folder], check=True, capture_output=True, timeout=300)
    return python


async def converted(kind: str, images: Path, folder: Path, state: Path) -> ConversionReport:
    deploy = ROOT / "deploy"
    interpreters = Interpreters(deploy / "images", deploy / "converters", images)
    exporter, targets = WorkerExporter(interpreters.python), WorkerTargetWriter(interpreters.environment)
    tools = Tools(exporter, TritonServingCheck(), SystemClock(), state, targets)
    block = ConvertSpec.model_validate({"name": "model", "to": ["onnx"], **BLOCKS[kind]})
    spec = ConversionSpec(workdir=str(folder), artifacts=str(folder), convert=block)

    async def tell(step: str, words: str, fraction: float) -> None:
        del step, words, fraction

    request = ConversionRequested(conversion_id=ids.new_conversion_id(), spec=spec)
    return (await convert(request, tools, tell)).report


if __name__ == "__main__":
    main()
