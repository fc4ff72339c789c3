#!/bin/sh
# Install a lock and the workspace's own packages (editable) into .venv. Called by start.sh and test.sh.
#   tools/install.sh runtime|dev
# The environment decides where packages come from: uv's own variables first, then what pip is configured with.
set -eu
cd "$(dirname "$0")/.."
lock="requirements/$1.lock"
stamp=".venv/.installed-$1"

if [ ! -x .venv/bin/python ]; then
  echo "making .venv" >&2
  "$UV" venv --quiet --python "$PYTHON" .venv
fi
members=$(for file in libs/*/pyproject.toml services/*/pyproject.toml; do dirname "$file"; done)
# The names and contents of what is installed; unchanged means there is nothing to do.
wanted=$(cat "$lock" libs/*/pyproject.toml services/*/pyproject.toml | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi
echo "installing $lock (a minute the first time)" >&2
"$UV" pip install --quiet --python .venv/bin/python --require-hashes -r "$lock"
# shellcheck disable=SC2046  # one option a member
"$UV" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation $(printf -- '-e %s ' $members)
printf '%s' "$wanted" > "$stamp"
