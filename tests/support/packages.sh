#!/usr/bin/env bash
# shellcheck disable=SC2034  # the lists are for those who source this file
#
# Installs what Baton's scripts need on Debian 12, Debian 13 and Ubuntu 24.04, and nothing else.
#
# Sourced, it gives the functions below; they print one line and return 1 if they cannot go on.
# It installs only what is missing, removes no package, and leaves no service started: services are
# forbidden to start by a policy-rc.d of ours while packages are unpacked, and the machine's own
# policy-rc.d, or its absence, is put back afterwards, also after a failure or Ctrl-C.
#
# Run as `packages.sh install NAME...` by root it does the installing itself (this is how the
# functions pass through sudo with everything that must be undone in one process).

# shellcheck source-path=SCRIPTDIR source=boost.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/boost.sh"

# baton_choose_packages SYSTEM: sets the lists for one of baton_system's systems. Names of Ubuntu were checked by reading only.
baton_choose_packages() {
  local boost clang
  # clang-format-14 has formatted our sources, and others format differently. Debian 13 has none; Ubuntu's chromium is a snap.
  local format=(clang-format-14) browser=(chromium)
  # crun of Debian 12 refuses hosts with both versions of control groups, so runc; the network packages are podman's.
  local network=(netavark aardvark-dns)
  case $1 in
    debian-12)
      clang=14
      network=(containernetworking-plugins golang-github-containernetworking-plugin-dnsname)
      ;;
    ubuntu-24.04) clang=18 browser=() ;;
    *) clang=19 format=() ;;
  esac
  read -r -a boost <<<"$(baton_boost_packages "$(baton_boost_version "$1")")"
  BATON_BUILD_PACKAGES=(
    g++ cmake ninja-build ccache pkg-config
    libgrpc++-dev libgrpc-dev libssl-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
    "${boost[@]}" libxxhash-dev
    libspdlog-dev libfmt-dev prometheus-cpp-dev libcli11-dev libyaml-cpp-dev libncurses-dev
  )
  BATON_RUN_PACKAGES=(etcd-server)
  BATON_TEST_PACKAGES=(
    git python3 etcd-client prometheus openssl curl jq "${format[@]}" spin
    libgtest-dev libgmock-dev librapidcheck-dev librdkafka-dev libsqlite3-dev
    python3-grpcio python3-protobuf python3-yaml nftables iproute2 util-linux e2fsprogs
    prometheus-alertmanager mold
  )
  BATON_BROWSER_PACKAGES=("${browser[@]}")
  BATON_SANITIZER_PACKAGES=(clang "libclang-rt-$clang-dev")
  BATON_PACKAGING_PACKAGES=(dpkg-dev debhelper git python3 lintian chrpath debootstrap systemd-container)
  BATON_CONTAINER_PACKAGES=(podman buildah runc debootstrap podman-compose iptables "${network[@]}")
}
baton_choose_packages "$(baton_system)"

# A build without packages of ours needs these at least.
BATON_TOOLS=(cmake ninja c++ protoc grpc_cpp_plugin)
BATON_HEADERS=(grpcpp/grpcpp.h google/protobuf/message.h openssl/ssl.h boost/json.hpp boost/url.hpp xxhash.h spdlog/spdlog.h
  fmt/format.h prometheus/registry.h CLI/CLI.hpp yaml-cpp/yaml.h curses.h)

# Prints the packages among "$@" that are to be installed, one a line: those that are not. Of a Boost that another one excludes (see
# boost.sh) only the libraries can be: they stand beside any other, and what is installed from the build needs them.
baton_missing_packages() {
  local name state version excluded=
  version=$(baton_boost_version "$(baton_system)")
  [[ -z $(baton_other_boost "$version") ]] || excluded=" $(baton_boost_packages "$version") "
  for name in "$@"; do
    if [[ $excluded == *" $name "* ]]; then
      [[ $name == libboost-* ]] || continue
      name=${name/%-dev/.0}
    fi
    state=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) || state=absent
    [[ $state == installed ]] || printf '%s\n' "$name"
  done
}

# Of the tools and headers that a build needs, prints those that are not here, one a line.
baton_missing_parts() {
  local tool header prefixes prefix options=()
  for tool in "${BATON_TOOLS[@]}"; do
    command -v "$tool" >/dev/null 2>&1 || printf '%s\n' "$tool"
  done
  command -v c++ >/dev/null 2>&1 || return 0
  # CMake looks in these, too. (Boost has no pkg-config file that could be asked for.)
  IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do options+=("-I$prefix/include"); done
  for header in "${BATON_HEADERS[@]}"; do
    printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$header" "$header"
  done | c++ -std=c++20 "${options[@]}" -E -P -x c++ - | sed -n 's/^missing //p'
}

# On other systems it installs nothing: it says in one line what is missing.
baton_accept_other_system() {
  local missing
  mapfile -t missing < <(baton_missing_parts)
  if ((${#missing[@]})); then
    echo "baton: packages are installed on Debian 12, Debian 13 and Ubuntu 24.04 only; please install:" \
      "${missing[*]}" >&2
    return 1
  fi
  echo "baton: not Debian 12, Debian 13 or Ubuntu 24.04, going on with what is here" >&2
}

# Ensures that the packages "$@" are installed. Does nothing when they are.
baton_ensure_packages() {
  local missing as_root
  [[ -n $(baton_system) ]] || { baton_accept_other_system; return; }
  mapfile -t missing < <(baton_missing_packages "$@")
  ((${#missing[@]})) || return 0
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null 2>&1 || {
      echo "baton: neither root nor sudo here; as root: apt-get install" \
        "--no-install-recommends ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "baton: installing ${missing[*]}" >&2
  "${as_root[@]}" bash "${BASH_SOURCE[0]}" install "${missing[@]}"
}

BATON_NODE_LEAST=18 # the oldest major version of Node.js that the tests and the previewer run on

# Ensures Node.js with npm: whatever is here, else Debian's.
baton_ensure_npm() {
  local version
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    baton_ensure_packages nodejs npm || return 1
  fi
  version=$(node --version) || return 1
  [[ $version =~ ^v([0-9]+)\. ]] && ((BASH_REMATCH[1] >= BATON_NODE_LEAST)) && return
  echo "baton: $(command -v node) is Node.js $version; $BATON_NODE_LEAST or newer is needed" >&2
  return 1
}

# baton_npm_packages_are_there FOLDER: all that its package-lock.json says, as it says now.
baton_npm_packages_are_there() {
  cmp -s -- "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

# baton_ensure_npm_packages FOLDER: what its package-lock.json says, in its node_modules. Scripts of
# packages don't run. Does nothing when that is done. One at a time does it: the others wait.
baton_ensure_npm_packages() {
  local folder=$1 lock code=0
  baton_npm_packages_are_there "$folder" && return
  baton_ensure_npm || return 1
  exec {lock}<"$folder/package-lock.json" || return 1
  if flock -w 900 "$lock"; then
    baton_install_npm_packages "$folder" || code=1
  else
    echo "baton: another installation of the npm packages of $folder does not end" >&2
    code=1
  fi
  exec {lock}<&-
  return "$code"
}

# With the folder's lock held.
baton_install_npm_packages() {
  local folder=$1 log
  baton_npm_packages_are_there "$folder" && return # by the script that had the lock before
  echo "baton: installing the npm packages of $folder" >&2
  log=$(mktemp)
  if (cd -- "$folder" && npm ci --ignore-scripts --no-audit --no-fund) </dev/null >"$log" 2>&1 &&
    mkdir -p -- "$folder/node_modules" &&
    cp -- "$folder/package-lock.json" "$folder/node_modules/.installed-lock.json"; then
    rm -f -- "$log"
    return
  fi
  tail -n 20 -- "$log" >&2
  rm -f -- "$log"
  echo "baton: npm could not install the packages of $folder" >&2
  return 1
}

# --- From here on as root, in a process of its own (see the end) ---

BATON_POLICY=/usr/sbin/policy-rc.d
BATON_POLICY_SAVED=/usr/sbin/policy-rc.d.before-baton
BATON_POLICY_MARK='# Placed by Baton while it installs packages; safe to delete.'

baton_policy_is_ours() {
  [[ -f $BATON_POLICY ]] && grep -qxF "$BATON_POLICY_MARK" "$BATON_POLICY"
}

# Also mends what a killed installation left.
baton_put_policy_back() {
  baton_policy_is_ours && rm -f "$BATON_POLICY"
  if [[ -e $BATON_POLICY_SAVED || -L $BATON_POLICY_SAVED ]] && [[ ! -e $BATON_POLICY ]]; then
    mv "$BATON_POLICY_SAVED" "$BATON_POLICY"
  fi
  return 0
}

baton_forbid_service_starts() {
  baton_put_policy_back
  if [[ -e $BATON_POLICY || -L $BATON_POLICY ]]; then
    mv "$BATON_POLICY" "$BATON_POLICY_SAVED" || return 1
  fi
  printf '#!/bin/sh\n%s\nexit 101\n' "$BATON_POLICY_MARK" >"$BATON_POLICY" &&
    chmod 755 "$BATON_POLICY"
}

# A service that a package enabled would start at the next boot.
baton_disable_new_services() {
  local package service
  for package in etcd-server prometheus prometheus-alertmanager; do
    [[ " $* " == *" $package "* ]] || continue
    service=${package%-server}
    deb-systemd-helper disable "$service.service" >/dev/null 2>&1 || true
    update-rc.d "$service" disable >/dev/null 2>&1 || true
    echo "baton: $package's system service stays off (Baton starts its own)" >&2
  done
}

# Quiet unless it fails: then the end of what apt-get said.
baton_apt_get() {
  local log code=0
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" \
    </dev/null >"$log" 2>&1 || code=$?
  ((code == 0)) || tail -n 40 -- "$log" >&2
  rm -f -- "$log"
  return "$code"
}

baton_install_as_root() {
  exec 9>/run/baton-packages.lock
  flock -w 900 9 || { echo "baton: another installation does not end" >&2; return 1; }
  trap baton_put_policy_back EXIT
  trap 'exit 130' INT TERM HUP
  baton_forbid_service_starts || return 1
  baton_apt_get update || echo "baton: apt-get update failed, going on with what is known" >&2
  baton_apt_get install -y --no-install-recommends --no-remove \
    -o Dpkg::Options::=--force-confold "$@" || {
    echo "baton: apt-get could not install $* (nothing was removed)" >&2
    return 1
  }
  baton_disable_new_services "$@"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  if [[ ${1:-} != install || $# -lt 2 ]]; then
    echo "usage: packages.sh install NAME..." >&2
    exit 2
  fi
  shift
  baton_install_as_root "$@"
  exit
fi
