#!/usr/bin/env bash
# Baton at work on a fresh Debian 12, Debian 13 or Ubuntu 24.04: installs what is missing, builds, and shows leaders fail
# over on a private throw-away etcd. See --help.
set -euo pipefail

support=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../tests/support" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=../tests/support/packages.sh
source "$support/packages.sh"
# shellcheck source-path=SCRIPTDIR source=../tests/support/build.sh
source "$support/build.sh"

usage() {
  cat <<'TEXT'
usage: examples/quickstart.sh [--yes] [--keep]

Installs what is missing (Debian 12 and 13, Ubuntu 24.04), builds batond and batonctl, and runs "batonctl demo".

  --yes    install without asking
  --keep   leave the demo's cluster up and print how to talk to it
  --help   this text

BATON_BUILD_DIR names the build folder (default: build/ of the repository).
TEXT
}

packages=("${BATON_BUILD_PACKAGES[@]}" "${BATON_RUN_PACKAGES[@]}")
yes=no
demo=(demo)
for argument in "$@"; do
  case $argument in
    --yes) yes=yes ;;
    --keep) demo+=(--keep) ;;
    --help)
      usage
      exit 0
      ;;
    *)
      echo "examples/quickstart.sh: unknown argument: $argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done

# Asks before packages are installed; without a terminal nobody can be asked.
consent() {
  local missing answer
  [[ $yes == no && -n $(baton_system) ]] || return 0
  mapfile -t missing < <(baton_missing_packages "${packages[@]}")
  ((${#missing[@]})) || return 0
  if [[ ! -t 0 ]]; then
    echo "examples/quickstart.sh: packages are missing: ${missing[*]}" >&2
    echo "run it with --yes to have them installed, or from a terminal to be asked" >&2
    exit 2
  fi
  read -r -p "Install ${missing[*]}? [y/N] " answer || answer=
  [[ $answer == [yY]* ]] && return 0
  echo "examples/quickstart.sh: nothing was installed" >&2
  exit 2
}

consent
baton_ensure_packages "${packages[@]}" || exit 1
baton_use_build_folder || exit 1
baton_lock_folder "$BATON_BUILD_DIR"
echo "Building batond and batonctl in $BATON_BUILD_DIR (some minutes the first time)"
baton_configure dev "$BATON_BUILD_DIR" "$BATON_BUILD_DIR/configure.log" || exit 1
baton_build "$BATON_BUILD_DIR" batond batonctl baton-guard baton baton_grpc baton_prometheus || exit 1
exec 9>&-
exec "$BATON_BUILD_DIR/bin/batonctl" "${demo[@]}"
