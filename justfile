# What people of this project do often. `just` is in .venv/bin after ./test.sh.

default:
    @just --list

# Rewrite the locked requirements
lock:
    tools/lock.sh

# Everything CI runs
test *options:
    ./test.sh {{options}}

# Only the fast tests, while working
unit *options:
    .venv/bin/pytest -q -m "not integration and not e2e and not slow and not docker and not frameworks and not models" {{options}}

# Tests that take minutes
slow:
    .venv/bin/pytest -q -m slow

# What speaks to a Kubernetes API, on the double; on a control plane too where TRAINYARD_TEST_KUBECONFIG names one
cluster-tests *options:
    .venv/bin/pytest -q -m cluster {{options}}

# The contract of the model server, asked of a real Triton too; its wheel and what it needs are 380 MB
triton *options:
    .venv/bin/pytest -q -m "triton or not triton" services/converter/tests/serving/contract {{options}}

format:
    .venv/bin/ruff check --quiet --fix .
    .venv/bin/ruff format --quiet .

# Write contract/ anew from the models, and what of deploy/ is made of it
contract:
    .venv/bin/python tools/generate_contract.py
    .venv/bin/python tools/generate_kustomize.py

# Write the kustomize base anew from the Helm chart
kustomize:
    .venv/bin/python tools/generate_kustomize.py

# Speed, as ratios in one run
bench:
    .venv/bin/python tests/bench/bench_pipeline.py

# The data plane against mapped files and a bare Flight server, and batches into PyTorch; images: where environments are built
bench-data images:
    .venv/bin/python tests/bench/bench_data.py
    .venv/bin/python tests/bench/bench_loading.py {{images}}

# Datasets out of S3, as moto serves it; server: a `moto_server` (pip install moto[s3,server], apart from ours)
object-store server:
    TRAINYARD_TEST_MOTO={{server}} .venv/bin/pytest -q -m slow libs/data/tests/test_object_store.py

# Conversions that share memory: whatever the size, against the bare calls; python: one with the frameworks
bench-tensors python:
    {{python}} tests/bench/bench_tensors.py

# What a conversion costs beyond the bare exporter; images: where environments are built
bench-conversion images *rounds:
    .venv/bin/python tests/bench/bench_conversion.py {{images}} {{rounds}}

# ONNX's own node tests: how many pass as the PyTorch module that we write; python: one with torch, onnx, onnx2torch, onnxruntime, safetensors
onnx-to-torch python *options:
    {{python}} tests/bench/bench_onnx_to_torch.py {{options}}

# One launcher over a thousand jobs of four pods: memory, watch lag, logs, requests; ten minutes
bench-scale *options:
    .venv/bin/python tests/bench/bench_launcher_scale.py {{options}}

# Every pair of frameworks, type and layout, measured anew into docs/reference/tensors.md, and what used to crash them; python: one that has torch, tensorflow, jax and paddle; others: with mindspore, with mxnet, which need older libraries
tensors python *others:
    .venv/bin/python tools/generate_tensors.py --measure {{python}} {{others}}
    TRAINYARD_TENSORS_PYTHON={{python}} .venv/bin/pytest -q -m frameworks libs/tensors

# Every example, template and mode of the frameworks, run on this machine; prints a table of the examples
frameworks *options:
    .venv/bin/pytest -q -s -m e2e tests/e2e/test_examples.py tests/e2e/test_templates.py tests/e2e/test_modes.py tests/e2e/test_lightning.py {{options}}

# Real models and architectures through whole conversions, every format into every target; writes docs/reference/conversions.md. An hour
models *options:
    mkdir -p build
    rm -f build/evidence.jsonl
    TRAINYARD_TEST_EVIDENCE=$PWD/build/evidence.jsonl .venv/bin/pytest -q -m "models or frameworks or integration" services/converter/tests/test_gallery.py services/converter/tests/test_frameworks.py services/converter/tests/test_targets.py {{options}}
    .venv/bin/python tools/generate_conversions.py --add build/evidence.jsonl
