#!/usr/bin/env bash
# run.sh NODE [FILE...]: runs the page's tests with that Node.js. Exits with 77 (skipped) if
# something that they need is missing. BATOND and BATONCTL name the tested programs, HANGING_NODE a
# program that embeds a node and fails (tests/e2e).
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
node=${1:-}
shift || true
# Half of them is left after an interrupted installation.
if [[ ! -x $node ]] || ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  echo "skipped: no Node.js, or no npm packages here; tests/run.sh installs them"
  exit 77
fi
if [[ ! -x ${CHROMIUM:-/usr/bin/chromium} ]]; then
  echo "skipped: no Chromium here; tests/run.sh installs it"
  exit 77
fi
exec "$node" --test --test-reporter=spec "${@:-page_test.mjs}"
