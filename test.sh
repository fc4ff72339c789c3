#!/bin/sh
# Install what the tests need and pass them all. Options go to pytest: `./test.sh -k bus`.
#   TRAINYARD_TEST_SYSTEM=1 (or CI=true) also installs Debian's docker.io when root, for the tests that need an engine.
set -eu
cd "$(dirname "$0")"

. tools/environment.sh

install dev
PATH="$PWD/.venv/bin:$PATH"
export PATH
if [ -n "${CI:-}${TRAINYARD_TEST_SYSTEM:-}" ]; then
  . tools/test-system.sh
fi

ruff check --quiet .
ruff format --quiet --check .
mypy --no-error-summary
lint-imports --no-cache | tail -n 4
python tools/generate_contract.py --check
tools/check-sizes.sh
python -m pytest -q "$@"
if [ -n "${CI:-}" ]; then
  python -m pytest -q -m triton services/converter/tests/serving
fi
