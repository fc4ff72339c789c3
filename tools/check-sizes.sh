#!/bin/sh
# A file above 400 lines does two things; find the second one.
set -eu
cd "$(dirname "$0")/.."
large=$(git ls-files '*.py' '*.sh' '*.js' '*.css' '*.html' | xargs wc -l | awk '$2 != "total" && $1 > 400 {print "  " $2 ": " $1 " lines"}')
if [ -n "$large" ]; then
  printf 'files above 400 lines:\n%s\n' "$large" >&2
  exit 1
fi
