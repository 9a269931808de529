#!/usr/bin/env bash
# Builds the container image of Baton with buildah, also where no registry can be reached. See --help.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$here/../.." && pwd -P)

usage() {
  cat <<'TEXT'
usage: packaging/container/image.sh [--tag NAME] [--base IMAGE | --debootstrap FOLDER] [--binaries FOLDER] [--output FILE]

Builds packaging/container/Containerfile with buildah (Debian: apt-get install buildah).

  --tag NAME            the image's name (default: localhost/baton)
  --base IMAGE          the image to start from (default: docker.io/library/debian:bookworm-slim)
  --debootstrap FOLDER  no registry: start from a Debian 12 that debootstrap makes in FOLDER. It is kept, and used
                        again: remove it for newer packages. Needs root.
  --binaries FOLDER     take batond, batonctl and baton-guard from FOLDER, instead of building them in the image. They
                        must be built on Debian 12. A copy without debug information goes into the image.
  --output FILE         also write the image to FILE, an OCI archive that podman, skopeo and containerd read

BATON_ISOLATION is buildah's --isolation (default: buildah's own; chroot where containers can't be nested),
BATON_BUILD_NETWORK its --network.
TEXT
}

refuse() {
  echo "packaging/container/image.sh: $1" >&2
  usage >&2
  exit 2
}

tag=localhost/baton base='' bootstrap='' binaries='' output=''
while (($#)); do
  case $1 in
    --help)
      usage
      exit 0
      ;;
    --tag | --base | --debootstrap | --binaries | --output)
      (($# >= 2)) || refuse "$1 needs a value"
      case $1 in
        --tag) tag=$2 ;;
        --base) base=$2 ;;
        --debootstrap) bootstrap=$2 ;;
        --binaries) binaries=$2 ;;
        --output) output=$2 ;;
      esac
      shift 2
      ;;
    *) refuse "unknown argument: $1" ;;
  esac
done
[[ -z $base || -z $bootstrap ]] || refuse "one of --base and --debootstrap"

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
isolation=(${BATON_ISOLATION:+"--isolation=$BATON_ISOLATION"})

# A Debian 12 without what a container never reads, as an image of this machine alone.
make_base() {
  local folder=$1 container mounted list mirror
  # The same base again: then what is built upon it is taken from buildah's cache.
  [[ -e $folder/.complete ]] && buildah inspect --type image "$base" >/dev/null 2>&1 && return
  if [[ ! -e $folder/.complete ]]; then
    rm -rf -- "${folder:?}/root"
    mkdir -p -- "$folder"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/root" >"$folder/debootstrap.log" 2>&1 || {
      tail -n 5 -- "$folder/debootstrap.log" >&2
      echo "packaging/container/image.sh: debootstrap failed; the log is $folder/debootstrap.log" >&2
      return 1
    }
    # Fixes of security and of the point releases, from where debootstrap got the rest.
    list=$folder/root/etc/apt/sources.list
    mirror=$(awk '$1 == "deb" { print $2; exit }' "$list")
    printf 'deb %s %s main\n' "$mirror" bookworm "$mirror" bookworm-updates "$mirror-security" bookworm-security >"$list"
    (cd -- "$folder/root" && rm -rf -- var/cache/apt/archives/*.deb var/lib/apt/lists/* usr/share/{man,locale,info}/*)
    buildah rmi --force "$base" >/dev/null 2>&1 || true
    touch -- "$folder/.complete"
  fi
  container=$(buildah from scratch)
  mounted=$(buildah mount "$container")
  cp -a -- "$folder/root/." "$mounted/"
  buildah config --cmd bash "$container"
  buildah commit --quiet --rm "$container" "$base" >/dev/null
}

if [[ -n $bootstrap ]]; then
  base=localhost/baton-debian-12
  make_base "$bootstrap"
fi

given=()
if [[ -n $binaries ]]; then
  # It stands in for the stage that builds.
  mkdir -p -- "$scratch/given/build/bin"
  for program in batond batonctl baton-guard; do
    strip --strip-unneeded -o "$scratch/given/build/bin/$program" "$binaries/$program"
  done
  given=(--build-context "build=$scratch/given")
fi

buildah build --layers "${isolation[@]}" ${BATON_BUILD_NETWORK:+"--network=$BATON_BUILD_NETWORK"} "${given[@]}" \
  ${base:+--build-arg "BASE=$base"} --tag "$tag" \
  --ignorefile "$here/Containerfile.dockerignore" --file "$here/Containerfile" "$root"
[[ -z $output ]] || buildah push --quiet "$tag" "oci-archive:$output:$tag"
