# Sourced by the scripts that build: where the build folder is, and how it is configured.
# shellcheck shell=bash

# shellcheck source-path=SCRIPTDIR source=boost.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/boost.sh"

BATON_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)

# Sets BATON_BUILD_DIR (default: build/ of the repository) to an absolute, writable folder.
baton_use_build_folder() {
  BATON_BUILD_DIR=${BATON_BUILD_DIR:-$BATON_ROOT/build}
  if ! mkdir -p -- "$BATON_BUILD_DIR" || [[ ! -w $BATON_BUILD_DIR ]]; then
    echo "baton: cannot write to $BATON_BUILD_DIR; name another folder by BATON_BUILD_DIR" >&2
    return 1
  fi
  BATON_BUILD_DIR=$(cd -- "$BATON_BUILD_DIR" && pwd -P)
  export BATON_BUILD_DIR
  # ccache needs a place to write; a service account's home may not be one.
  [[ -w ${HOME:-/nonexistent} ]] || export CCACHE_DIR=$BATON_BUILD_DIR/.ccache
  # What a source includes is learned from the compiler, not from a preprocessor that runs before it.
  export CCACHE_DEPEND=1
}

# Prints --fresh if FOLDER was configured for another source tree or generator.
baton_stale_cache_option() {
  local cache=$1/CMakeCache.txt
  [[ -f $cache ]] || return 0
  grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$BATON_ROOT" "$cache" &&
    grep -qxF "CMAKE_GENERATOR:INTERNAL=Ninja" "$cache" || echo --fresh
}

# baton_has_part FOLDER PART: FOLDER was last configured with the folder PART of the repository. Its build graph says
# so; its cache would also hold the options of an attempt that failed.
baton_has_part() { grep -qs "^build $2/all:" "$1/build.ninja"; }

# baton_configure PRESET FOLDER LOG [PART...]: configures FOLDER so that it can build the named parts: tests (with the
# examples, which the tests run), bench and examples. It keeps the parts that another script configured there, and leaves
# out the others. Every option is always given, so scripts may use a folder in any order. If BATON_WERROR is ON, as
# .ci/run sets it, warnings are errors. Prints nothing unless it fails.
baton_configure() {
  local preset=$1 folder=$2 log=$3 boost stale part tests=OFF bench=OFF examples=OFF
  shift 3
  stale=$(baton_stale_cache_option "$folder")
  for part in tests bench examples; do
    if [[ " $* " == *" $part "* ]] || { [[ -z $stale ]] && baton_has_part "$folder" "$part"; }; then
      printf -v "$part" ON
    fi
  done
  [[ $tests == OFF ]] || examples=ON
  boost=$(baton_boost_option "$folder") || return 1
  # shellcheck disable=SC2086  # one word or none
  (cd -- "$BATON_ROOT" && cmake --preset "$preset" -B "$folder" $stale ${boost:+"$boost"} "-DBATON_TESTS=$tests" \
    "-DBATON_EXAMPLES=$examples" "-DBATON_BENCH=$bench" \
    "-DCMAKE_COMPILE_WARNING_AS_ERROR=${BATON_WERROR:-OFF}") >"$log" 2>&1 || {
    cat -- "$log" >&2
    echo "baton: configuring failed; the log is $log" >&2
    return 1
  }
}

# baton_build FOLDER [TARGET...]: progress on a terminal, else only what fails.
baton_build() {
  local folder=$1 quiet=--quiet
  shift
  [[ -t 1 ]] && quiet=
  # shellcheck disable=SC2086  # one word or none
  ninja -C "$folder" -j "$(nproc)" $quiet "$@" || {
    echo "baton: the build in $folder failed" >&2
    return 1
  }
}

# baton_lock_folder FOLDER [FD]: one script at a time configures and builds it. Holds the file
# descriptor (9 unless said) until that is closed.
baton_lock_folder() {
  local fd=${2:-9}
  eval "exec $fd>\"\$1/.lock\""
  flock -n "$fd" && return
  echo "baton: another run works in $1; waiting for it" >&2
  flock -w 3600 "$fd"
}
