#!/bin/sh
# From a clone to a trained, converted and served model: installs into the clone, starts nats-server and the services,
# and runs the main job. `--detach` leaves the services in the background; `./stop.sh` ends them.
set -eu
cd "$(dirname "$0")"

. tools/environment.sh

for option in "$@"; do
  case $option in
    --detach | -d) ;;
    *) die "unknown option $option; there is only --detach" ;;
  esac
done
install runtime
exec .venv/bin/yard up --run examples/digits-pytorch "$@"
