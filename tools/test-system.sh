# shellcheck shell=sh
# Sourced by test.sh: what only a system package brings. Where it cannot be had, the tests that need it say so and skip.

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  if ! command -v dockerd >/dev/null 2>&1; then
    say "installing docker.io"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y docker.io iptables; } >/dev/null 2>&1 ||
      say "docker.io could not be installed; its tests will be skipped"
  fi
  if command -v dockerd >/dev/null 2>&1 && ! docker info >/dev/null 2>&1; then
    dockerd >/tmp/trainyard-dockerd.log 2>&1 &
    dockerd_pid=$!
    trap 'kill "$dockerd_pid" 2>/dev/null || true' EXIT
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      docker info >/dev/null 2>&1 && break
      sleep 1
    done
  fi
fi
