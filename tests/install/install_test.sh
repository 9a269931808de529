#!/usr/bin/env bash
# Installs a finished build into a folder of its own. Then builds and runs a project that knows only
# that folder, and the examples that documents show.
# install_test.sh BUILD_FOLDER VERSION BUILD_TYPE COMPILER
set -euo pipefail

build=$1 version=$2 type=$3 compiler=$4
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
consumer=$here/consumer
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "FAILED: $1"
  exit 1
}

DESTDIR='' cmake --install "$build" --prefix "$prefix" >"$work/install.log" 2>&1 || {
  cat "$work/install.log"
  fail "cmake --install"
}

# The public headers and protos are there, and no internal ones.
[[ -f $prefix/include/baton/node.h ]] || fail "include/baton/node.h is not installed"
find "$prefix/share/baton/proto" -name '*.proto' 2>/dev/null | grep -q . ||
  fail "share/baton/proto holds no .proto"
inside=$(find "$prefix/include" -mindepth 1 -maxdepth 1 ! -name baton)
[[ -z $inside ]] || fail "not public, but installed: $inside"
if grep -rqF -- "$build" "$prefix"/lib*/cmake; then
  fail "the installed package names the build folder"
fi

# Every component there is; a stranger asks for those it wants.
components=()
for name in grpc prometheus; do
  found=$(find "$prefix" -name "baton-$name-targets.cmake")
  [[ -z $found ]] || components+=("$name")
done

for wanted in "" "${components[@]}"; do
  folder=$work/consumer-${wanted:-plain}
  cmake -G Ninja -S "$consumer" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE="$type" -DCMAKE_CXX_COMPILER="$compiler" -DCOMPONENT="$wanted" ||
    fail "configuring the consumer (component: ${wanted:-none})"
  cmake --build "$folder" || fail "building the consumer (component: ${wanted:-none})"
  said=$("$folder/consumer")
  [[ $said == "baton $version, drain" ]] || fail "the consumer says: $said"
done

# The same by pkg-config, from a folder that the package was moved to.
mv "$prefix" "$work/moved"
prefix=$work/moved
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname -- "$(find "$prefix" -name baton.pc)")
[[ $(pkg-config --modversion baton) == "$version" ]] || fail "baton.pc names another version"
for wanted in "" "${components[@]}"; do
  package=baton${wanted:+-$wanted}
  define=()
  [[ -z $wanted ]] || define=("-DCOMPONENT_HEADER=<baton/$wanted.h>" "-DCOMPONENT_${wanted^^}")
  # shellcheck disable=SC2046  # words
  "$compiler" -std=c++20 "-DPACKAGE_VERSION=\"$version\"" "${define[@]}" "$consumer/main.cc" \
    $(pkg-config --cflags --libs "$package") "-Wl,-rpath,$(pkg-config --variable=libdir "$package")" \
    -o "$work/by-$package" || fail "building the consumer by pkg-config $package"
  said=$("$work/by-$package")
  [[ $said == "baton $version, drain" ]] || fail "the consumer by pkg-config says: $said"
done

# The examples that documents show, as projects of a user.
examples=(leader)
[[ ${components[*]} != "grpc prometheus" ]] || examples+=(orders)
for example in "${examples[@]}"; do
  folder=$work/$example
  cmake -G Ninja -S "$here/../../examples/$example" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE="$type" -DCMAKE_CXX_COMPILER="$compiler" || fail "configuring $example"
  cmake --build "$folder" || fail "building $example"
done
if [[ -d $work/orders ]]; then
  "$work/orders/orders_caller" >"$work/usage" 2>&1 || true
  grep -q usage: "$work/usage" || fail "the caller of orders does not say how to use it"
fi

if cmake -S "$consumer" -B "$work/refused" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCOMPONENT=nonsense >/dev/null 2>&1; then
  fail "a component that does not exist was found"
fi
for program in batond batonctl baton-guard; do
  [[ ! -e $build/bin/$program ]] || [[ -x $prefix/bin/$program ]] || fail "$program is not installed"
done
folders=("$(dirname -- "$(find "$prefix" -name 'libbaton.so')")")
[[ ! -d $prefix/bin ]] || folders+=("$prefix/bin")
/usr/bin/python3 "$here/elf_test.py" "${folders[@]}" || fail "RUNPATH of what is installed"
echo "consumed: baton::baton ${components[*]}"
