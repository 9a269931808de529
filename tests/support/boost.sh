# Sourced by packages.sh and build.sh: which Boost this system's packages bring, and Boost for a machine on which another
# libboost-dev is installed. Of these packages only one version can be installed at a time (Debian's libboost-dev is 1.74,
# and Baton needs 1.81). Then the needed version is unpacked below the build folder: nothing of the machine changes.
# shellcheck shell=bash

# baton_system [OS_RELEASE]: prints debian-12, debian-13 or ubuntu-24.04, the systems whose packages Baton knows, or nothing.
baton_system() {
  local file=${1:-/etc/os-release} system
  [[ -r $file ]] || return 0
  # shellcheck disable=SC1090
  system=$(ID='' VERSION_ID=''; . "$file"; echo "$ID-$VERSION_ID")
  case $system in
    debian-12 | debian-13 | ubuntu-24.04) echo "$system" ;;
  esac
}

# baton_boost_version SYSTEM: the Boost that Baton is built with there.
baton_boost_version() {
  case $1 in
    debian-12) echo 1.81 ;;
    *) echo 1.83 ;;
  esac
}

# baton_boost_packages VERSION: what has to be installed to build with it; it brings the others.
baton_boost_packages() { echo "libboost$1-dev libboost-json$1-dev libboost-url$1-dev"; }

# baton_other_boost VERSION: prints the name of an installed package that keeps libboostVERSION-dev from being installed, if any.
baton_other_boost() {
  dpkg-query -W -f='${Package} ${db:Status-Status}\n' 'libboost1.*-dev' 2>/dev/null |
    awk -v wanted="libboost$1-dev" '$2 != "installed" || $1 !~ /^libboost1\.[0-9]+-dev$/ { next }
      $1 == wanted { there = 1 } { other = $1 } END { if (!there && other) print other }'
}

# baton_boost_option FOLDER: prints the option with which CMake finds Boost below the build folder FOLDER, and unpacks it there
# before if that is needed. Prints nothing if the system's own can be used.
baton_boost_option() {
  local system version other prefix
  system=$(baton_system)
  [[ -n $system ]] || return 0
  version=$(baton_boost_version "$system")
  other=$(baton_other_boost "$version")
  [[ -n $other ]] || return 0
  prefix=$1/boost-$version
  if [[ ! -d $prefix ]]; then
    echo "baton: $other is installed and excludes libboost$version-dev: unpacking that in $prefix, nothing else changes" >&2
    baton_unpack_boost "$version" "$prefix" || return 1
  fi
  printf -- '-DBoost_DIR=%s\n' "$prefix"/usr/lib/*/cmake/"Boost-$version.0"
}

# baton_unpack_boost VERSION PREFIX: no root needed. The lists of packages are fetched into a folder of its own, since those of
# the machine may be missing or old, and are removed afterwards. apt-get checks them as it always does.
baton_unpack_boost() {
  local version=$1 prefix=$2 work code=0
  mkdir -p -- "$(dirname -- "$prefix")" && work=$(mktemp -d "$prefix.XXXXXX") || return 1
  baton_fetch_boost "$version" "$work" >"$work/log" 2>&1 && mv -- "$work/root" "$prefix" || {
    tail -n 20 -- "$work/log" >&2
    echo "baton: the packages of Boost $version could not be unpacked" >&2
    code=1
  }
  rm -rf -- "$work"
  return "$code"
}

baton_fetch_boost() {
  local version=$1 work=$2 name package names
  local options=(-q -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache")
  names=("libboost$version-dev" "libboost-system$version-dev" "libboost-container$version-dev" "libboost-container$version.0")
  for name in json url; do
    names+=("libboost-$name$version-dev" "libboost-$name$version.0")
  done
  mkdir -p -- "$work/lists/partial" "$work/cache/archives/partial" "$work/root" &&
    apt-get "${options[@]}" update --error-on=any && (cd -- "$work" && apt-get "${options[@]}" download "${names[@]}") || return
  for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/root" || return
  done
}
