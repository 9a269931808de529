#!/usr/bin/env bash
# A project that takes Baton's sources in with FetchContent: what it configures, compiles and would build.
# fetched_test.sh ROOT BUILD_FOLDER VERSION BUILD_TYPE COMPILER
#
# Compiling the library once more would take as long as the whole build. So the project's own program is compiled, and
# linked with the libraries of BUILD_FOLDER; that the rest can be built is ninja's to say, without doing it. With
# BATON_FETCHED=all in the environment everything is built in the project itself.
set -euo pipefail

root=$1 build=$2 version=$3 type=$4 compiler=$5
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

# The Boost that BUILD_FOLDER has found: it may lie below that folder, where nobody else looks (tests/support/boost.sh).
boost=$(sed -n 's/^Boost_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake -G Ninja -S "$here/fetched" -B "$work/build" -DBATON_SOURCE="$root" -DEXPECTED_VERSION="$version" \
  -DBoost_DIR="$boost" -DCMAKE_BUILD_TYPE="$type" -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 || {
  cat -- "$work/log"
  fail "configuring"
}
# It has the library alone: neither our programs nor our tests are part of its build, nor of its installation.
ninja -C "$work/build" -n >"$work/steps" || fail "the build has no complete plan"
for ours in batond batonctl _test; do
  if grep -q "executable.*$ours" "$work/steps"; then fail "the project would build $ours"; fi
done
DESTDIR=$work/installed cmake --install "$work/build" >/dev/null 2>&1 || fail "cmake --install"
[[ ! -e $work/installed ]] || fail "the project installs files of Baton: $(find "$work/installed" -type f | head -n 3)"

for name in baton grpc prometheus; do
  if [[ ${BATON_FETCHED:-} == all ]]; then
    ninja -C "$work/build" "by_$name" || fail "building by_$name"
    program=$work/build/by_$name
  else
    object=$(ninja -C "$work/build" -t targets all |
      sed -n "s/^\(CMakeFiles\/by_$name\.dir.*\.o\): .*/\1/p")
    ninja -C "$work/build" "$object" || fail "compiling by_$name"
    libraries=("$build/lib/libbaton.so")
    [[ $name == baton ]] || libraries=("$build/lib/libbaton_$name.so" "${libraries[@]}")
    [[ $name != grpc ]] || libraries+=(-lgrpc++)
    program=$work/by_$name
    "$compiler" "$work/build/$object" "${libraries[@]}" "-Wl,-rpath,$build/lib" -o "$program" || fail "linking by_$name"
  fi
  said=$("$program")
  [[ $said == "baton $version, drain" ]] || fail "by_$name says: $said"
done
echo "taken in: baton::baton, baton::grpc, baton::prometheus"
