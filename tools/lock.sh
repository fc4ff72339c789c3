#!/bin/sh
# Rewrite the locked requirements. Workspace members stay out (they are installed from the clone), and so does
# the address of any index: a lock made here must install from whichever mirror the reader has configured.
set -eu
cd "$(dirname "$0")/.."
export UV_CUSTOM_COMPILE_COMMAND="just lock"

members=$(sed -n 's/^name = "\(trainyard-.*\)"/--no-emit-package \1/p' libs/*/pyproject.toml services/*/pyproject.toml)
lock() {
  output=$1
  shift
  # shellcheck disable=SC2086  # one word an option
  uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
    $members "$@" --output-file "$output"
}
lock requirements/runtime.lock pyproject.toml --group build
lock requirements/bootstrap.lock requirements/bootstrap.in --constraint requirements/runtime.lock
lock requirements/dev.lock pyproject.toml --group build --group dev --constraint requirements/runtime.lock

# An image's lock holds everything but the framework, whose CPU build has another hash in every place that offers it.
# `overrides.txt` keeps such a framework out of the lock where another package asks for it.
.venv/bin/yard images lock
TRAINYARD_CATALOGUE=deploy/converters .venv/bin/yard images lock
TRAINYARD_CATALOGUE=deploy/servers .venv/bin/yard images lock
TRAINYARD_CATALOGUE=services/converter/tests/gallery/images .venv/bin/yard images lock
