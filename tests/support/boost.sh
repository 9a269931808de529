# Sourced by packages.sh: what this system is, and which Boost its packages bring.
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
