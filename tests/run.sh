#!/usr/bin/env bash
# Installs what is missing, builds, runs the test groups, prints a line for each, then one for each test that was skipped or
# failed, and last "N passed, N failed, N skipped". See --help.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=support/packages.sh
source "$here/support/packages.sh"
# shellcheck source-path=SCRIPTDIR source=support/build.sh
source "$here/support/build.sh"

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--all | --asan | --tsan | --coverage | --long [MINUTES]]

Installs what is missing (Debian 12 and 13, Ubuntu 24.04), builds what the tests need, runs them, prints a line for each
group, then "skipped: LOGS/TEST: WHY" and "failed: LOGS/TEST" of each test that was, and last "N passed, N failed, N skipped".

Without options it runs the essential tests, as you do before a commit: the rules of the house (tidy), unit tests
and scenarios, fixed seeds of the simulator, contract tests on a real etcd, and the most important end-to-end tests.

  --all       runs every test, those of --asan and --tsan at a low priority beside the others. Continuous
              integration runs this.
  --asan      runs the groups unit, sim and contract and the fuzzers' corpora under the address and undefined
              behaviour sanitizers
  --tsan      runs the tests of the core, runtime, routes and simulator under the thread sanitizer
  --coverage  runs the core's unit tests, scenarios and fixed seeds, and measures which lines of src/core they
              reach; less than 95 % is a failure
  --long      runs simulated groups from fresh seeds, which it prints, for this many minutes (default: 60);
              for a violation it prints the seed and the faults that it takes
  --help      prints this text

To run a part by hand, build it and select it by its label or name:

  ninja -C build                                  builds everything that is configured
  ctest --test-dir build -L '^unit$'              one group: tidy, unit, sim, contract, install, model,
                                                  packages, dashboards, page, e2e, chaos, etcd or fuzz
  ctest --test-dir build -L '^essential$'         what tests/run.sh runs
  ninja -C build core_test && build/tests/core_test --gtest_filter='SessionTest.*'

BATON_BUILD_DIR names the build folder (default: build/ of the repository); --asan, --tsan and --coverage build in
folders below it. If BATON_WERROR is ON, as .ci/run sets it, warnings of the compiler are errors. TMPDIR names the
tests' temporary folder (default: in memory, if 16 GB of it are free, else /tmp).
Exit codes: 0 all passed, 1 a test failed or none ran, 2 usage, 130 interrupted.
TEXT
}

# The tests that reach src/core. Left out are fresh seeds, so that a figure is the same twice, and the random clusters,
# which take minutes without optimisation.
coverage_tests=(core_test core_groups_test assignment_test scenarios_test simulation_test)
coverage_left_out='*FreshSeeds*:CoreRandom.*'
coverage_least=95  # percent of lines

# Under the thread sanitizer: what shares state between threads, and what the simulator's claim rests on. Where gRPC, which is
# not instrumented, hands a call of its own from thread to thread (admin_test, router_test), its reports tell nothing.
thread_tests=(core_test core_groups_test assignment_test scenarios_test
  dispatch_test doctor_test history_test metrics_test node_test relay_engine_test route_feed_test standby_status_test
  attachment_test route_hub_test routes_test
  etcd_model_test machines_test quiet_hour_test simulation_seeds)

# The parts of each mode: its preset, the label of its tests (none: all tests), folders that need npm packages, and the
# modes that run beside its tests.
choose_mode() {
  local mode=$1
  preset=dev label=() npm_folders=() beside=()
  packages=("${BATON_BUILD_PACKAGES[@]}" "${BATON_RUN_PACKAGES[@]}" "${BATON_TEST_PACKAGES[@]}")
  case $mode in
    essential) label=(essential) ;;
    all)
      npm_folders=("$here/page" "$here/../dashboards/preview")
      packages+=("${BATON_BROWSER_PACKAGES[@]}" "${BATON_SANITIZER_PACKAGES[@]}" "${BATON_PACKAGING_PACKAGES[@]}"
        "${BATON_CONTAINER_PACKAGES[@]}")
      beside=(asan tsan)
      ;;
    asan | tsan)
      preset=$mode
      packages+=("${BATON_SANITIZER_PACKAGES[@]}")
      ;;
    coverage) preset=coverage ;;
  esac
}

parse_arguments() {
  mode=essential minutes=60
  while (($#)); do
    local argument=$1
    shift
    case $argument in
      --help)
        usage
        exit 0
        ;;
      --all | --asan | --tsan | --coverage | --long)
        [[ $mode == essential || $mode == "${argument#--}" ]] || refuse "one of --$mode and $argument"
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
  "$@" </dev/null 7>&- 8>&- 9>&- &
  child=$!
  set +m
  wait "$child" || code=$?
  child=
  return "$code"
}

# A run beside this one is a session of its own, whose parts end their own groups as this one does: it has twice the time.
companion=
end_group() {
  local group=$1 patience=$2 tries
  [[ -n $group ]] || return 0
  kill -TERM -- "-$group" 2>/dev/null || return 0
  for ((tries = 0; tries < 10 * patience; tries++)); do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null || true
}

interrupted() {
  trap '' INT TERM HUP
  end_group "$child" 10
  end_group "$companion" 20
  echo "tests/run.sh: interrupted; the logs so far are in $logs" >&8
  exit 130
}

results() { /usr/bin/python3 "$here/support/results.py" "$@"; }

# build [LABEL...]: what the tests with one of these labels need; without labels, everything.
build() {
  local listed targets=()
  if (($#)); then
    listed=$(results targets "$folder" "$@") || return
    mapfile -t targets <<<"$listed"
  fi
  run_child baton_build "$folder" "${targets[@]}"
}

# The tests of these groups mostly wait, for leases, scrapes and a browser: they run together, two at a time. The
# essential tests run together, too, four at a time, as many of them wait. Tests that may not run beside others say so.
waiting_groups=(install packages etcd dashboards page e2e)
runs_together() { [[ $1 =~ $(one_of "${waiting_groups[@]}") || $mode == essential && $(jobs_of "$1") != 1 ]]; }

# Groups that measure times run one test at a time.
jobs_of() {
  case $1 in
    chaos | bench) echo 1 ;;
    *) echo 2 ;;
  esac
}

# run_tests NAME CTEST-OPTION...: what ctest selects; the logs are in the folder NAME.
run_tests() {
  local name=$1
  mkdir -p -- "$logs/$name"
  GTEST_OUTPUT="xml:$logs/$name/" run_child "${under[@]}" ctest --test-dir "$folder" "${@:2}" \
    --timeout 600 --no-tests=error --output-on-failure \
    --output-junit "$logs/$name/ctest.xml" >"$logs/$name/ctest.log" 2>&1 || true
}

# run_counted NAME CTEST-OPTION...: what ctest selects, counted under that name.
run_counted() {
  local started=$SECONDS
  run_tests "$@"
  results summary "$1" "$logs/$1" "$((SECONDS - started))"
}

# run_group GROUP [PREFIX]: one group, or its tests with the mode's label, counted under its name behind the prefix.
run_group() {
  local group=$1 selection=(-L "^$1\$")
  [[ -z ${label[*]} ]] || selection+=(-L "^${label[0]}\$")
  [[ $group != other ]] || selection=(-LE .)
  run_counted "${2:-}$group" -j "$(jobs_of "$group")" "${selection[@]}"
}

# run_together GROUP...: these groups together, each counted under its name.
run_together() {
  local jobs=2 selection=(-L "$(one_of "$@")")
  [[ $mode != essential ]] || jobs=4
  [[ -z ${label[*]} ]] || selection+=(-L "^${label[0]}\$")
  [[ $mode != essential ]] || echo "the tests run together; their log is $logs/together/ctest.log"
  run_tests together -j "$jobs" "${selection[@]}"
  results summaries "$folder" "$logs/together"
}

# run_groups PREFIX [LABEL...]: the groups that have tests with one of these labels; without labels, all groups.
run_groups() {
  local prefix=$1 listed chosen group together=()
  listed=$(results groups "$folder" "${@:2}") || return
  mapfile -t chosen <<<"$listed"
  for group in "${chosen[@]}"; do
    if runs_together "$group"; then
      together+=("$group")
      continue
    fi
    ((${#together[@]} == 0)) || run_together "${together[@]}" || return
    together=()
    run_group "$group" "$prefix" || return
  done
  ((${#together[@]} == 0)) || run_together "${together[@]}"
}

# note NAME CODE [WHY]: what is no test of ctest's; 0 is well, 77 skipped, for this reason.
note() {
  mkdir -p -- "$logs/$1"
  results check "$1" "$logs/$1" 0 "${@:2}"
}

one_of() {
  local IFS='|'
  echo "^($*)\$"
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
  local started=$SECONDS code=0
  GTEST_FILTER=-$coverage_left_out run_counted core -j 2 -R "$(one_of "${coverage_tests[@]/%simulation_test/&.essential}")"
  started=$SECONDS
  run_child /usr/bin/python3 "$here/support/coverage.py" "$folder" "$BATON_ROOT/src/core" \
    --least "$coverage_least" || code=$?
  mkdir -p -- "$logs/lines"
  results check lines "$logs/lines" "$((SECONDS - started))" "$code"
}

# The preset's folder is this run's. The tests find the programs under test by BATON_BUILD_DIR.
enter() {
  local fd=9
  folder=$top
  if [[ $preset != dev ]]; then
    folder=$top/$preset fd=7
    mkdir -p -- "$folder"
  fi
  logs=$folder/test-logs
  baton_lock_folder "$folder" "$fd"
  export BATON_BUILD_DIR=$folder
  rm -rf -- "${logs:?}"  # old ones would be counted again
  mkdir -p -- "$logs"
  # Where addresses are spread too widely clang 14's thread sanitizer does not start.
  under=()
  [[ $preset != tsan ]] || ! setarch -R true 2>/dev/null || under=(setarch -R)
}

# Building under sanitizers only computes, and most tests of the plain build mostly wait: so these go on beside
# them, each as a run of its own, with the lowest claim on the processors that still gets on.
start_beside() {
  ((${#beside[@]})) || return 0
  # The sanitizers' simulator is held against this one's.
  # shellcheck disable=SC2016  # expanded there
  BATON_BUILD_DIR=$top BATON_OTHER_SIM=$folder/tests/baton_sim setsid bash -c '
    { echo 15 >/proc/self/autogroup; } 2>/dev/null
    for mode in "${@:2}"; do nice -n 15 bash "$1" "--$mode"; done' \
    beside "$here/run.sh" "${beside[@]}" >"$logs/beside.log" 2>&1 </dev/null 7>&- 8>&- 9>&- &
  companion=$!
}

join_beside() {
  [[ -n $companion ]] || return 0
  wait "$companion" || true
  companion=
  mkdir -p -- "$logs/beside"
  results beside "$logs/beside.log" "$logs/beside" "${#beside[@]}"
}

# An etcd waits for the disk at each commit, and the compilers beside the tests write gigabytes to it, for seconds at
# times. Leases of the tests are as short as that. So their folders are in memory if there is plenty of it.
scratch=
use_memory() {
  local folder=/dev/shm free
  [[ -z ${TMPDIR:-} && -w $folder ]] || return 0
  free=$(df -k --output=avail "$folder" | tail -n 1)
  ((free >= 8 << 20 && $(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) >= 16 << 20)) || return 0
  # Of a run that was killed. A container may share the folder, and its processes have other numbers.
  local old pid numbers ours
  ours=$(readlink /proc/self/ns/pid)
  for old in "$folder"/baton-tests.*; do
    [[ -O $old ]] && read -r pid numbers <"$old/run" && [[ $numbers == "$ours" ]] || continue
    kill -0 "$pid" 2>/dev/null || rm -rf -- "$old"
  done 2>/dev/null
  scratch=$(mktemp -d "$folder/baton-tests.XXXXXX") || return 0
  echo "$$ $ours" >"$scratch/run"
  chmod 1777 -- "$scratch"  # as /tmp: some tests are other users
  # Containers often have it so that nothing there can be executed, and some tests do that.
  printf '#!/bin/sh\n' >"$scratch/tried"
  chmod +x -- "$scratch/tried"
  if "$scratch/tried" 2>/dev/null; then export TMPDIR=$scratch; fi
}

configure() { baton_configure "$preset" "$folder" "$logs/configure-$preset.log" tests; }

# Fails if the build fails.
run_preset() {
  [[ $mode != long ]] || run_long
  case $preset:$mode in
    coverage:*)
      find "$folder" -name '*.gcda' -delete  # they would be counted again
      run_child baton_build "$folder" "${coverage_tests[@]}" || return
      run_coverage
      ;;
    tsan:*)
      run_child baton_build "$folder" "${thread_tests[@]/simulation_seeds/baton_sim}" || return
      run_counted tsan -j 2 -R "$(one_of "${thread_tests[@]}")"
      ;;
    asan:*)
      build unit sim contract || return
      run_child baton_build "$folder" fuzz_all fuzz_replay || return  # the former for the plain build's group fuzz
      run_groups asan- unit sim contract fuzz
      ;;
    *)
      build "${label[@]}" || return
      start_beside
      run_groups "" "${label[@]}"
      ;;
  esac
}

main() {
  local top
  parse_arguments "$@"
  choose_mode "$mode"
  baton_ensure_packages "${packages[@]}" || exit 1
  ensure_npm_packages
  baton_use_build_folder || exit 1
  top=$BATON_BUILD_DIR
  # The signal may come while a group's output goes to its log.
  exec 8>&2
  trap interrupted INT TERM HUP
  trap '[[ -z $scratch ]] || rm -rf -- "$scratch" || true' EXIT
  use_memory
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$here/support/lsan.supp:print_suppressions=0}
  export TSAN_OPTIONS=${TSAN_OPTIONS:-ignore_noninstrumented_modules=1 suppressions=$here/support/tsan.supp}
  enter
  if [[ $preset == [at]san ]] && ! command -v clang++ >/dev/null; then
    note "$preset" 77 "no clang++ here"  # elsewhere than on the systems whose packages we know
  elif ! { configure && run_preset; }; then
    note "$preset-build" 1
  fi
  join_beside
  results total "$logs"
}

main "$@"
