# shellcheck shell=sh
# Sourced by test.sh: what only a system package brings. Where it cannot be had, the tests that need it say so and skip.

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  missing=
  command -v dockerd >/dev/null 2>&1 || missing="docker.io iptables"
  command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
  if [ -n "$missing" ]; then
    say "installing $missing"
    # shellcheck disable=SC2086  # one word a package
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $missing; } >/dev/null 2>&1 ||
      say "$missing could not be installed; their tests will be skipped"
  fi
  if command -v dockerd >/dev/null 2>&1 && ! docker info >/dev/null 2>&1; then
    # An engine that was killed leaves its number behind and refuses to start while another process has it.
    if [ -f /var/run/docker.pid ] && ! grep -qs dockerd "/proc/$(cat /var/run/docker.pid)/cmdline"; then
      rm -f /var/run/docker.pid
    fi
    dockerd >/tmp/trainyard-dockerd.log 2>&1 &
    dockerd_pid=$!
    trap 'kill "$dockerd_pid" 2>/dev/null || true' EXIT
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      docker info >/dev/null 2>&1 && break
      sleep 1
    done
  fi
fi
