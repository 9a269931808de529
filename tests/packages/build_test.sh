#!/usr/bin/env bash
# Builds the packages twice, in two folders, and looks at them from outside.
# build_test.sh ROOT BUILD_FOLDER OUTPUT VERSION COMPILER: leaves the packages in OUTPUT, and batond with a higher
# version in OUTPUT/newer.
#
# The programs and libraries are those of BUILD_FOLDER, because compiling them again takes as long as the whole build. With
# BATON_PACKAGES=compile in the environment both builds compile everything, the second one without ccache.
set -euo pipefail

root=$1 build=$2 output=$3 version=$4 compiler=$5
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=../support/boost.sh
source "$here/../support/boost.sh"
rm -rf -- "$output"  # those of an earlier run must not be taken for these
for tool in dpkg-buildpackage dh lintian chrpath git; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is missing (tests/support/packages.sh, BATON_PACKAGING_PACKAGES)"
    exit 77
  }
done
other=$(baton_other_boost "$(baton_boost_version "$(baton_system)")")
[[ -z $other ]] || {
  echo "skipped: $other is installed, and excludes the Boost that the packages are built with"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

first=(--prebuilt "$build") second=(--prebuilt "$build")
[[ ${BATON_PACKAGES:-} != compile ]] || first=() second=(--no-ccache)
mkdir -p -- "$work/one" "$work/another-folder-with-a-longer-name"
TMPDIR=$work/one "$root/packaging/build-debs" --output "$output" "${first[@]}" >/dev/null || fail "building the packages"
TMPDIR="$work/another-folder-with-a-longer-name" "$root/packaging/build-debs" --output "$work/second" "${second[@]}" \
  >/dev/null || fail "building the packages again"

# Reproducible: the same bytes.
names=(batond libbaton0.1 libbaton-dev)
for name in "${names[@]}"; do
  package=$(echo "$output/${name}_$version-"*.deb)
  [[ -f $package ]] || fail "there is no package $name"
  cmp -- "$package" "$work/second/${package##*/}" || fail "$name is another one in another folder"
done
lintian --fail-on error,warning "$output"/*.deb || fail "lintian"

# The two packages of the library have all that a user's project needs.
for name in libbaton0.1 libbaton-dev; do dpkg-deb -x "$output/${name}_"*.deb "$work/root"; done
for header in "$root"/include/baton/*.h; do
  [[ -f $work/root/usr/include/baton/${header##*/} ]] || fail "${header##*/} is not packaged"
done
for example in leader/main.cc orders/service.cc python/generate.sh python/member.py; do
  [[ -f $work/root/usr/share/doc/libbaton-dev/examples/$example ]] || fail "examples/$example is not packaged"
done
libraries=$(dirname -- "$(find "$work/root/usr/lib" -name libbaton.so)")
cmake -G Ninja -S "$here/../install/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/root/usr" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCOMPONENT=grpc >"$work/log" 2>&1 || {
  cat -- "$work/log"
  fail "configuring the consumer"
}
cmake --build "$work/consumer" || fail "building the consumer"
said=$("$work/consumer/consumer")
[[ $said == "baton $version, drain" ]] || fail "the consumer says: $said"
export PKG_CONFIG_PATH=$libraries/pkgconfig
# shellcheck disable=SC2046  # words
"$compiler" -std=c++20 "-DPACKAGE_VERSION=\"$version\"" "$here/../install/consumer/main.cc" \
  $(pkg-config --cflags --libs baton) -o "$work/by-pkg-config" || fail "building the consumer by pkg-config"
said=$(LD_LIBRARY_PATH=$libraries "$work/by-pkg-config")
[[ $said == "baton $version, drain" ]] || fail "the consumer by pkg-config says: $said"

# For the test of upgrades: the same files.
dpkg-deb -R "$output"/batond_*.deb "$work/newer"
sed -i 's/^Version: .*/&+2/' "$work/newer/DEBIAN/control"
mkdir -- "$output/newer"
dpkg-deb -Zgzip --root-owner-group -b "$work/newer" "$output/newer/batond.deb" >/dev/null
echo "built, the same twice, and clean: ${names[*]}"
