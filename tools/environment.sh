# shellcheck shell=sh
# Sourced by start.sh, stop.sh and test.sh from the root of the clone: finds Python and uv, or says what to do.
# Sets PYTHON and UV. Nothing is installed outside the clone.

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

find_python() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do
    [ -n "$candidate" ] || continue
    command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
      PYTHON=$(command -v "$candidate")
      export PYTHON
      return
    fi
  done
  found=$(python3 --version 2>/dev/null || echo "none")
  die "Python 3.11 or newer is needed and was not found (python3 is: $found). Install it (Debian, Ubuntu: apt install python3; macOS: brew install python) or set PYTHON to its path."
}

find_uv() {
  UV_PYTHON_DOWNLOADS=never
  export UV_PYTHON_DOWNLOADS
  if [ -x .venv/bin/uv ]; then
    UV=$PWD/.venv/bin/uv
  elif [ -x .tools/bin/uv ]; then
    UV=$PWD/.tools/bin/uv
  elif command -v uv >/dev/null 2>&1; then
    UV=$(command -v uv)
  else
    bootstrap_uv
    UV=$PWD/.tools/bin/uv
  fi
  export UV
}

# uv from the locked version, by whatever this Python has: pip, or a virtual environment that brings one.
bootstrap_uv() {
  say "fetching uv"
  mkdir -p .tools
  log=.tools/bootstrap.log
  if "$PYTHON" -m pip --version >/dev/null 2>&1; then
    "$PYTHON" -m pip install --quiet --require-hashes --target .tools/site -r requirements/bootstrap.lock >"$log" 2>&1 || no_uv
    mkdir -p .tools/bin
    ln -sf "$PWD/.tools/site/bin/uv" .tools/bin/uv
  elif "$PYTHON" -m venv .tools/venv >"$log" 2>&1; then
    .tools/venv/bin/python -m pip install --quiet --require-hashes -r requirements/bootstrap.lock >>"$log" 2>&1 || no_uv
    mkdir -p .tools/bin
    ln -sf "$PWD/.tools/venv/bin/uv" .tools/bin/uv
  else
    die "$PYTHON has neither pip nor a working venv module. Debian, Ubuntu: apt install python3-venv; or install uv yourself and run this again."
  fi
  [ -x .tools/bin/uv ] || no_uv
}

no_uv() {
  tail -n 3 .tools/bootstrap.log >&2
  die "uv could not be fetched. Check the network; behind a mirror set PIP_INDEX_URL (details: .tools/bootstrap.log)."
}

# uv does not read pip's configuration: hand over the index that pip would use.
follow_pip() {
  if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    index=${PIP_INDEX_URL:-$("$PYTHON" -m pip config get global.index-url 2>/dev/null || true)}
    if [ -n "$index" ]; then
      UV_DEFAULT_INDEX=$index
      export UV_DEFAULT_INDEX
    fi
  fi
}

install() {
  find_python
  follow_pip
  find_uv
  if ! tools/install.sh "$1"; then
    die "the packages of requirements/$1.lock could not be installed; the lines above say why. No network? Set PIP_INDEX_URL to a mirror. Disk full? A yard needs about 2 GB."
  fi
}
