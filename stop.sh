#!/bin/sh
# Stop what `./start.sh --detach` left in the background. Nothing is lost: the next start goes on.
set -eu
cd "$(dirname "$0")"

if [ ! -x .venv/bin/yard ]; then
  echo "nothing was installed here yet, so no yard is up"
  exit 0
fi
exec .venv/bin/yard down
