#!/usr/bin/env bash
# Installs what is missing, builds, runs the test groups, prints a line for each, and last
# "N passed, N failed, N skipped". See --help.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=support/packages.sh
source "$here/support/packages.sh"
# shellcheck source-path=SCRIPTDIR source=support/build.sh
source "$here/support/build.sh"

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--quick | --asan | --tsan | --coverage | --long [MINUTES]]

Installs what is missing (Debian 12), builds, and runs every test group.

  --quick     only the groups unit, core and tidy
  --asan      the groups unit, core and contract under the address and undefined behaviour sanitizers
  --tsan      the same groups under the thread sanitizer
  --coverage  the core's unit tests, scenarios and fixed seeds of the simulator, then the lines of src/core
              that they reach; fewer than 95 % count as a failure
  --long      simulated groups alone, from fresh seeds (printed), for so many minutes (default: 60);
              a violation ends with its seed and the faults that it needs
  --help      this text

BATON_BUILD_DIR names the build folder (default: build/ of the repository); --asan, --tsan and
--coverage build in folders below it. Exit codes: 0 all passed, 1 something failed or nothing ran,
2 usage, 130 interrupted.
TEXT
}

# What reaches src/core. Left out are fresh seeds, so that a figure is the same twice, and the random clusters,
# which take minutes without optimisation.
coverage_tests=(core_test division_test scenarios_test simulation_test)
coverage_left_out='*FreshSeeds*:CoreRandom.*'
coverage_least=95  # percent of lines

# What each mode is: a preset, a folder below the build folder, groups (none: all there are), and folders
# that need npm packages.
choose_mode() {
  local mode=$1
  preset=dev groups=() build_all=no npm_folders=()
  packages=("${BATON_BUILD_PACKAGES[@]}" "${BATON_RUN_PACKAGES[@]}" "${BATON_TEST_PACKAGES[@]}")
  case $mode in
    all)
      build_all=yes npm_folders=("$here/page" "$here/../dashboards/preview")
      packages+=("${BATON_BENCH_PACKAGES[@]}" "${BATON_BROWSER_PACKAGES[@]}" "${BATON_SANITIZER_PACKAGES[@]}")
      ;;
    quick) groups=(unit core tidy) packages+=("${BATON_BENCH_PACKAGES[@]}") ;;
    asan | tsan)
      preset=$mode groups=(unit core contract)
      packages+=("${BATON_SANITIZER_PACKAGES[@]}")
      ;;
    long) packages+=("${BATON_BENCH_PACKAGES[@]}") ;;
    coverage) preset=coverage ;;
  esac
}

parse_arguments() {
  mode=all minutes=60
  while (($#)); do
    local argument=$1
    shift
    case $argument in
      --help)
        usage
        exit 0
        ;;
      --quick | --asan | --tsan | --coverage | --long)
        [[ $mode == all || $mode == "${argument#--}" ]] || refuse "one of --$mode and $argument"
        mode=${argument#--}
        if [[ $mode == long && ${1:-} =~ ^[1-9][0-9]{0,5}$ ]]; then
          minutes=$1
          shift
        fi
        ;;
      *) refuse "unknown argument: $argument" ;;
    esac
  done
}

refuse() {
  echo "tests/run.sh: $1" >&2
  usage >&2
  exit 2
}

# Without the registry the tests that need these skip themselves, and all others run.
ensure_npm_packages() {
  local npm_folder
  for npm_folder in "${npm_folders[@]}"; do
    baton_ensure_npm_packages "$npm_folder" ||
      echo "tests/run.sh: the tests that need the npm packages of $npm_folder are skipped" >&2
  done
}

# The build and ctest run in process groups of their own, so that Ctrl-C ends all that they started
# and nothing else.
child=
run_child() {
  local code=0
  set -m
  "$@" </dev/null 8>&- 9>&- &
  child=$!
  set +m
  wait "$child" || code=$?
  child=
  return "$code"
}

end_child() {
  local group=$child tries
  child=
  [[ -n $group ]] || return 0
  kill -TERM -- "-$group" 2>/dev/null || return 0
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null || true
}

interrupted() {
  trap '' INT TERM HUP
  end_child
  echo "tests/run.sh: interrupted; the logs so far are in $logs" >&8
  exit 130
}

results() { /usr/bin/python3 "$here/support/results.py" "$@"; }

build() {
  local targets=()
  if [[ $mode == coverage ]]; then
    run_child baton_build "$folder" "${coverage_tests[@]}"
    return
  fi
  [[ $build_all == yes ]] || mapfile -t targets < <(results targets "$folder" "${groups[@]}")
  [[ $build_all == yes || ${#targets[@]} -gt 0 ]] || return 0
  run_child baton_build "$folder" "${targets[@]}"
}

# Groups that start clusters measure time; they get the machine for themselves.
jobs_of() {
  case $1 in
    e2e | chaos | bench | install | dashboards | page) echo 1 ;;
    *) echo 2 ;;
  esac
}

run_group() {
  local group=$1 selection=(-L "^$1\$")
  [[ $group != other ]] || selection=(-LE .)
  run_tests "$group" "${selection[@]}"
}

# run_tests GROUP SELECTION...: what ctest selects, counted as that group.
run_tests() {
  local group=$1 selection=("${@:2}") started=$SECONDS
  mkdir -p -- "$logs/$group"
  GTEST_OUTPUT="json:$logs/$group/" run_child ctest --test-dir "$folder" "${selection[@]}" \
    -j "$(jobs_of "$group")" --timeout 600 --no-tests=error --output-on-failure \
    --output-junit "$logs/$group/ctest.xml" >"$logs/$group/ctest.log" 2>&1 || true
  results summary "$group" "$logs/$group" "$((SECONDS - started))"
}

run_groups() {
  local chosen group
  mapfile -t chosen < <(results groups "$folder" "${groups[@]}")
  for group in "${chosen[@]}"; do
    run_group "$group"
  done
}

# Fresh seeds for as long as asked: 63 bits, so that some billions of them follow.
run_long() {
  local from code=0
  from=$(od -An -N8 -tu8 /dev/urandom | tr -d ' ')
  from=$((from & 0x7fffffffffff0000))
  run_child baton_build "$folder" baton_sim || exit 1
  echo "simulated groups for $minutes minutes, seeds from $from"
  run_child "$folder/tests/baton_sim" --from "$from" --minutes "$minutes" --shrink --table || code=1
  exit "$code"
}

# The tests, and the lines that they reach as one more check.
run_coverage() {
  local names started=$SECONDS code=0
  names=$(IFS='|' && echo "${coverage_tests[*]}")
  GTEST_FILTER=-$coverage_left_out run_tests core -R "^($names)\$"
  started=$SECONDS
  run_child /usr/bin/python3 "$here/support/coverage.py" "$folder" "$BATON_ROOT/src/core" \
    --least "$coverage_least" || code=$?
  mkdir -p -- "$logs/lines"
  results check lines "$logs/lines" "$((SECONDS - started))" "$code"
}

# Old logs and counters would be counted again.
forget_last_run() {
  rm -rf -- "${logs:?}"
  mkdir -p -- "$logs"
  [[ $mode != coverage ]] || find "$folder" -name '*.gcda' -delete
}

main() {
  parse_arguments "$@"
  choose_mode "$mode"
  baton_ensure_packages "${packages[@]}" || exit 1
  ensure_npm_packages
  baton_use_build_folder || exit 1
  folder=$BATON_BUILD_DIR
  [[ $preset == dev ]] || folder=$BATON_BUILD_DIR/$preset
  logs=$folder/test-logs
  mkdir -p -- "$folder"
  # The signal may come while a group's output goes to its log.
  exec 8>&2
  trap interrupted INT TERM HUP
  baton_lock_folder "$folder"
  forget_last_run
  # The tests find the programs under test by it.
  export BATON_BUILD_DIR=$folder
  export TSAN_OPTIONS=${TSAN_OPTIONS:-ignore_noninstrumented_modules=1 suppressions=$here/support/tsan.supp}
  baton_configure "$preset" "$folder" "$logs/configure.log" -DBATON_TESTS=ON || exit 1
  [[ $mode != long ]] || run_long
  build || exit 1
  if [[ $mode == coverage ]]; then run_coverage; else run_groups; fi
  results total "$logs"
}

main "$@"
