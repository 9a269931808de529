#!/usr/bin/env bash
# Searches the models' states: they are safe and live, every message in them is reached, and without any one of their
# rules they are not. Prints one line for each search, and last "N passed, N failed".
# check.sh --help
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
MEMORY_MIB=${BATON_MODEL_MEMORY_MIB:-4000}

usage() {
  cat <<'TEXT'
usage: tests/model/check.sh [--full] [--work FOLDER] [SEARCH...]
       tests/model/check.sh --list

Without names, all that continuous integration runs; --full adds bounds that take longer.
Generated checkers and counterexamples go to FOLDER/<search> (default: a folder of the build folder);
a counterexample is shown by `./pan -r` there. Needs spin and a C compiler.
TEXT
}

# name | what it shows | the model's flags
SAFE=(
  "safety_3x1|safe|-DN=3 -DS=1 -DFOLDED -DFENCE"
  "safety_2x2|safe|-DN=2 -DS=2 -DFOLDED"
  "safety_2x1_unfolded|safe|-DN=2 -DS=1 -DFENCE"
  "safety_2x1_late_keys|reached|-DN=2 -DS=1 -DLATE_KEYS -DFOLDED -DFENCE"
  "safety_3x1_twins|safe|-DN=3 -DS=1 -DFOLDED -DFENCE -DTWINS"
  "liveness_2x1_unfolded|live|-DN=2 -DS=1"
  "liveness_3x1|live|-DN=3 -DS=1 -DFOLDED"
  "liveness_2x2|live|-DN=2 -DS=2 -DFOLDED"
)
FULL=(
  "safety_2x1_late_keys_unfolded|reached|-DN=2 -DS=1 -DLATE_KEYS -DFENCE"
  "safety_3x1_unfolded|safe|-DN=3 -DS=1"
  "safety_2x2_fence|safe|-DN=2 -DS=2 -DFOLDED -DFENCE"
)
# The same for guard.pml. A file that lags is safe, and so is a lock that is lost before the file names the session.
GUARD_SAFE=(
  "guard_safety_3|safe|-DP=3 -DNAMED"
  "guard_safety_3_closes|reached|-DP=3 -DG=1 -DCLOSES -DNAMED"
  "guard_safety_3_external|safe|-DP=3 -DG=1 -DEXTERNAL"
  "guard_safety_2_changes|safe|-DP=2 -DCHANGES=1 -DCLOSES -DNAMED"
  "guard_safety_2_all|reached|-DP=2 -DG=1 -DEXTERNAL -DCLOSES -DCHANGES=1 -DLATE_GRANT"
  "guard_safety_lagging_file|safe|-DP=3 -DG=1 -DWITHOUT_NAME_FIRST"
  "guard_safety_closed_unnamed|safe|-DP=2 -DCLOSES -DBEFORE_NAMING -DWITHOUT_KEPT_LOCK"
  "guard_live_3|live|-DP=3 -DG=1"
  "guard_live_2|live|-DP=2"
  "guard_back_3|back|-DP=3 -DG=1"
  "guard_back_2_late_grant|back|-DP=2 -DLATE_GRANT"
)
GUARD_FULL=(
  "guard_safety_3_all|safe|-DP=3 -DEXTERNAL -DCLOSES"
  "guard_live_2_changes|live|-DP=2 -DG=1 -DCHANGES=1 -DCLOSES"
)
# The removed guard | the search that shows it: the smallest one in which the guard has something to refuse
BASE="-DN=2 -DS=1 -DLATE_KEYS"
GUARDS=(
  "claim_record|$BASE" "claim_dead|$BASE" "claim_lease|$BASE" "claim_create|$BASE"
  "transfer_record|$BASE -DONLY_EXCLUSION" "transfer_move|$BASE" "transfer_target|$BASE"
  "abandon_record|$BASE" "abandon_move|$BASE -DONLY_EXCLUSION" "resign_record|$BASE"
  "create_absence|$BASE" "takeover_revision|$BASE" "proof|-DN=3 -DS=1 -DTWINS"
  "confirmation|$BASE" "confirm_compare|$BASE" "confirm_create|$BASE" "raft_term|$BASE"
  "sending_time|$BASE" "stop|$BASE -DONLY_EXCLUSION" "stop_before_revoke|$BASE"
  "unknown|$BASE -DONLY_EXCLUSION" "abandon|$BASE -DONLY_EXCLUSION"
  "reading_back|$BASE" "lost_for_ever|$BASE" "fence|$BASE -DFENCE"
)
# The removed rule of guard.pml | the property that it costs | the model's flags
GUARD_RULES=(
  "read_under_lock|safe|-DP=2" "deletion_compare|safe|-DP=2" "exclusive|safe|-DP=2"
  "external_flag|safe|-DP=2 -DEXTERNAL" "previous_external|safe|-DP=2 -DEXTERNAL"
  "kept_lock|safe|-DP=2 -DCLOSES" "proof_by_lock|safe|-DP=3 -DG=1" "takeover_compare|safe|-DP=3 -DG=1"
  "settling|safe|-DP=3 -DG=1 -DNAMED"
  "name_first|live|-DP=2" "descriptor_check|live|-DP=2 -DCLOSES" "previous|live|-DP=2" "settled_clear|live|-DP=2"
  "revocation|live|-DP=2" "deletion|live|-DP=2"
  "deletion_older|back|-DP=2" "unnamed_start|back|-DP=2"
)
# The same for the models of failover policies and placement rules: lock_delay.pml, failover.pml, upgrade.pml,
# placement.pml.
POLICY_SAFE=(
  "lock_delay_safety_4|safe|-DS=4"
  "lock_delay_safety_3_changes|reached|-DS=3 -DCHANGES"
  "failover_safety|reached|"
  "failover_safety_settings|reached|-DNO_DELAY -DMISTAKES"
  "failover_safety_lags|safe|-DONLY_AFTER -DLAGS"
  "failover_live_never|live|-DNO_DELAY"
  "failover_live_after|live|-DONLY_AFTER -DIDLE"
  "upgrade_safety|reached|-DOLD=2"
  "upgrade_safety_compares|reached|-DOLD=2 -DCOMPARES -DWITHOUT_PAUSE"
  "placement_safety|reached|"
)
POLICY_FULL=(
  "lock_delay_safety_4_changes|safe|-DS=4 -DCHANGES"
  "failover_safety_few_lags|reached|-DFEW -DLAGS"
)
LOCK_DELAY="-DS=3 -DD=1"
POLICY_RULES=(
  "lock_delay_without_wait|safe|$LOCK_DELAY" "lock_delay_without_wait_then_claim|safe|$LOCK_DELAY"
  "lock_delay_without_session_proof|safe|$LOCK_DELAY" "lock_delay_without_released_only|safe|$LOCK_DELAY"
  "lock_delay_without_forced_waits|safe|$LOCK_DELAY" "lock_delay_without_late_release_void|safe|$LOCK_DELAY"
  "lock_delay_without_lock_held|safe|$LOCK_DELAY" "lock_delay_without_lock_names_session|safe|$LOCK_DELAY"
  "lock_delay_without_owner_waits|safe|$LOCK_DELAY" "lock_delay_without_wait_per_record|safe|$LOCK_DELAY"
  "lock_delay_without_certain_members|safe|$LOCK_DELAY"
  "lock_delay_without_claim_config|safe|$LOCK_DELAY -DCHANGES"
  "lock_delay_without_transfer_config|safe|$LOCK_DELAY -DCHANGES"
  "failover_without_config|safe|-DNO_DELAY" "failover_without_stopped_owner|safe|-DNO_DELAY"
  "failover_without_directory|safe|-DNO_DELAY" "failover_without_no_directory|safe|-DNO_DELAY"
  "failover_without_force_term|safe|-DNO_DELAY" "failover_without_force_dead|safe|-DNO_DELAY"
  "failover_without_known_config|safe|-DNO_DELAY -DMISTAKES"
  "failover_without_delay|safe|-DONLY_AFTER" "failover_without_away|safe|-DONLY_AFTER"
  "failover_without_return_resets|safe|-DONLY_AFTER" "failover_without_proven_stay|safe|-DONLY_AFTER -DLAGS"
  "failover_without_up_to|safe|-DONLY_AFTER -DFEW" "failover_without_seen|safe|-DONLY_AFTER -DFEW -DLAGS"
  "failover_without_idle_wait|safe|-DONLY_AFTER" "failover_without_idle_owner|live|-DONLY_AFTER -DIDLE"
  "failover_without_kept_directory|live|-DNO_DELAY" "failover_without_targets_directory|live|-DNO_DELAY"
  "upgrade_without_config_compare|safe|-DOLD=1" "upgrade_without_members_compare|safe|-DOLD=1"
  "upgrade_without_second_members_compare|safe|-DOLD=1" "upgrade_without_first_commit|safe|-DOLD=1"
  "upgrade_without_pause|safe|-DOLD=1"
  "placement_without_config_compare|safe|" "placement_without_session_compare|safe|"
  "placement_without_own_look|safe|" "placement_without_fixed_labels|safe|"
)

passed=0
failed=0

# report NAME VERDICT STATES DEPTH SECONDS [WHY]
report() {
  local word=FAILED
  if [[ $2 == ok ]]; then
    word=ok
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  printf '%-32s %9s states  depth %8s  %4s s  %s %s\n' "$1" "${3:-?}" "${4:-?}" "$5" "$word" "${6:-}"
}

# The model that the search NAME is of.
model_of() {
  case $1 in
    guard_*) echo "$here/guard.pml" ;;
    lock_delay_*) echo "$here/lock_delay.pml" ;;
    failover_*) echo "$here/failover.pml" ;;
    upgrade_*) echo "$here/upgrade.pml" ;;
    placement_*) echo "$here/placement.pml" ;;
    *) echo "$here/baton.pml" ;;
  esac
}

# build NAME "MODEL FLAGS" "COMPILER FLAGS": leaves NAME/pan in the work folder.
build() {
  local folder=$work/$1 model spin_flags compiler_flags
  model=$(model_of "$1")
  read -ra spin_flags <<<"$2"
  read -ra compiler_flags <<<"$3"
  rm -rf -- "$folder"
  mkdir -p -- "$folder"
  (
    cd -- "$folder"
    spin -a "${spin_flags[@]}" "$model" >spin.log 2>&1 &&
      "${CC:-cc}" -w -DNOREDUCE "-DMEMLIM=$MEMORY_MIB" "${compiler_flags[@]}" -o pan pan.c >cc.log 2>&1
  )
}

# pan's report on its own search, whatever it found.
read_figures() {
  local log=$1
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$log" | head -n 1)
  depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$log" | head -n 1)
  found=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth \([0-9]*\)).*/\1 after \2 steps/p' "$log" | head -n 1)
}

# Whether the search saw every state, so that nothing cut it short.
is_whole() {
  grep -q 'errors: 0' "$1" && ! grep -qE 'max search depth|out of memory|not completed|aborting|^pan: error' "$1"
}

# unreached NAME "MODEL FLAGS": the steps that the model has with these flags and the search never took. (pan's own list
# leaves out what is inside a d_step.)
unreached() {
  local flags
  read -ra flags <<<"$2"
  "${CC:-cc}" -E -P -x c "${flags[@]}" "$(model_of "$1")" | grep -o 'Reached("[^"]*")' |
    sed 's/Reached("\(.*\)")/\1/' | sort -u | comm -23 - <(sed -n 's/^reached //p' "$work/$1/pan.log" | sort)
}

search_all() {
  local name=$1 kind=$2 flags=$3 began=$SECONDS log=$work/$1/pan.log why="" verdict=ok
  local compiler="-DSAFETY" run="" optimise=-O0 deepest=6000000
  case $name in  # pan reserves memory for it
    guard_*) deepest=100000 ;;
    lock_delay_*) deepest=1000000 ;;
    failover_* | upgrade_* | placement_*) deepest=500000 ;;
  esac
  # pan.c takes a compiler half a minute at -O2; below a million states the search is over before.
  [[ $name != *unfolded && $name != *2x2* && $name != guard_live* && $name != failover_safety ]] || optimise=-O1
  [[ $kind != reached ]] || flags="$flags -DREACH"
  case $kind in
    live) compiler="-DNFAIR=4" run="-a -f" flags="$flags -DLIVENESS" ;;
    back) compiler="-DNFAIR=4" run="-a -f" flags="$flags -DBACK" ;;
  esac
  build "$name" "$flags" "$optimise $compiler" || {
    report "$name" no "" "" $((SECONDS - began)) "spin or the compiler failed"
    return 0
  }
  # shellcheck disable=SC2086  # words
  (cd -- "$work/$name" && ./pan $run -m"$deepest" >pan.log 2>&1) || true
  read_figures "$log"
  is_whole "$log" || { verdict=no; why=${found:-"not searched to the end, see $log"}; }
  if [[ $verdict == ok && $kind == reached ]]; then
    why=$(unreached "$name" "$flags" | paste -sd ';')
    [[ -z $why ]] || verdict=no why="never taken: $why"
  fi
  report "$name" "$verdict" "$states" "$depth" $((SECONDS - began)) "$why"
}

# Breadth first: the counterexample is among the shortest.
search_without() {
  local name=$1 flags=$2 began=$SECONDS verdict=ok rule=${1##*without_}
  local log=$work/$name/pan.log
  build "$name" "-DBREADTH_FIRST $flags -DWITHOUT_${rule^^}" "-O0 -DSAFETY -DBFS" || {
    report "$name" no "" "" $((SECONDS - began)) "spin or the compiler failed"
    return 0
  }
  (cd -- "$work/$name" && ./pan -m100000 >pan.log 2>&1) || true
  read_figures "$log"
  [[ $found == *assertion* && $found != *'k<='* ]] || verdict=no
  report "$name" "$verdict" "$states" "$depth" $((SECONDS - began)) "${found:-no counterexample}"
}

# The counterexample is a run without an end in which nothing good happens any more.
search_cycle() {
  local name=$1 flags=$2 began=$SECONDS verdict=no rule=${1##*without_}
  local log=$work/$name/pan.log
  if build "$name" "$flags -DWITHOUT_${rule^^}" "-O0 -DNFAIR=4"; then
    (cd -- "$work/$name" && ./pan -a -f -m10000 >pan.log 2>&1) || true
    read_figures "$log"
    [[ $found != *'acceptance cycle'* ]] || verdict=ok
  fi
  report "$name" "$verdict" "$states" "$depth" $((SECONDS - began)) "${found:-no counterexample}"
}

names() {
  printf '%s\n' "${SAFE[@]}" | cut -d'|' -f1
  printf 'without_%s\n' "${GUARDS[@]}" | cut -d'|' -f1
  echo without_claims
  printf '%s\n' "${GUARD_SAFE[@]}" | cut -d'|' -f1
  printf 'guard_without_%s\n' "${GUARD_RULES[@]}" | cut -d'|' -f1
  printf '%s\n' "${POLICY_SAFE[@]}" "${POLICY_RULES[@]}" | cut -d'|' -f1
}

wanted() {
  [[ ${#selected[@]} -eq 0 ]] || [[ " ${selected[*]} " == *" $1 "* ]]
}

work=${BATON_BUILD_DIR:-$here/../../build}/model
full=no
selected=()
while (($#)); do
  case $1 in
    --full) full=yes ;;
    --work) work=$2 && shift ;;
    --list) names && exit 0 ;;
    --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *) selected+=("$1") ;;
  esac
  shift
done
command -v spin >/dev/null || { echo "check.sh: spin is not installed" >&2; exit 1; }
mkdir -p -- "$work"
work=$(cd -- "$work" && pwd -P)

[[ $full == no ]] || SAFE+=("${FULL[@]}") GUARD_SAFE+=("${GUARD_FULL[@]}") POLICY_SAFE+=("${POLICY_FULL[@]}")
for entry in "${SAFE[@]}" "${GUARD_SAFE[@]}" "${POLICY_SAFE[@]}"; do
  IFS='|' read -r name kind flags <<<"$entry"
  if wanted "$name"; then search_all "$name" "$kind" "$flags"; fi
done
for entry in "${GUARDS[@]}"; do
  IFS='|' read -r guard flags <<<"$entry"
  if wanted "without_$guard"; then search_without "without_$guard" "$flags"; fi
done
# The liveness search finds a fault if there is one: here no node ever claims.
if wanted without_claims; then search_cycle without_claims "-DN=2 -DS=1 -DFOLDED -DLIVENESS"; fi
for entry in "${GUARD_RULES[@]}"; do
  IFS='|' read -r rule costs flags <<<"$entry"
  if ! wanted "guard_without_$rule"; then continue; fi
  case $costs in
    safe) search_without "guard_without_$rule" "$flags" ;;
    live) search_cycle "guard_without_$rule" "$flags -DLIVENESS" ;;
    back) search_cycle "guard_without_$rule" "$flags -DBACK" ;;
  esac
done
for entry in "${POLICY_RULES[@]}"; do
  IFS='|' read -r name costs flags <<<"$entry"
  if ! wanted "$name"; then continue; fi
  case $costs in
    safe) search_without "$name" "$flags" ;;
    live) search_cycle "$name" "$flags -DLIVENESS" ;;
  esac
done

echo "$passed passed, $failed failed"
((passed > 0 && failed == 0))
