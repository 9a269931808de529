#!/usr/bin/env bash
# Figures: installs what is missing, builds with full optimisation below the build folder, and runs
# baton_bench with the arguments given. BATON_BUILD_DIR as for tests/run.sh. Part (m) has a peer in Go, which is built
# if there is a Go compiler. Part (n) measures examples/kv, too, which needs SQLite.
set -euo pipefail

support=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../tests/support" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=../tests/support/packages.sh
source "$support/packages.sh"
# shellcheck source-path=SCRIPTDIR source=../tests/support/build.sh
source "$support/build.sh"

if [[ " $* " == *" --help "* && ! -x ${BATON_BUILD_DIR:-$support/../../build}/release/bin/baton_bench ]]; then
  echo "usage: bench/run.sh [ARGUMENTS]"
  echo "Builds baton_bench with full optimisation, which takes many minutes the first time, and runs it with ARGUMENTS."
  echo "Once it is built, --help lists them. bench/RESULTS.md has the figures on record."
  exit 0
fi
baton_ensure_packages "${BATON_BUILD_PACKAGES[@]}" "${BATON_RUN_PACKAGES[@]}" libsqlite3-dev || exit 1
baton_use_build_folder || exit 1
folder=$BATON_BUILD_DIR/release
mkdir -p -- "$folder"
baton_lock_folder "$folder"
baton_configure release "$folder" "$folder/configure.log" bench examples || exit 1
baton_build "$folder" baton_bench batond kv_server || exit 1
if command -v go >/dev/null; then
  (cd -- "$BATON_ROOT/bench/go_recipe" && go build -trimpath -o "$folder/bin/go_recipe" .) ||
    echo "bench/run.sh: bench/go_recipe can't be built; part (m) leaves it out" >&2
fi
exec 9>&-
# baton_bench finds the measured programs by it.
export BATON_BUILD_DIR=$folder
exec "$folder/bin/baton_bench" "$@"
