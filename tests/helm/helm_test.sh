#!/usr/bin/env bash
# Builds and runs the checks of packaging/helm: helm_test.sh BUILD-FOLDER. Helm, Kubernetes' API types and those of the
# operators are Go modules. Exits with 77, which is skipped, without Go or without the modules.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
build=$1
export GOWORK=off GOTOOLCHAIN=local CGO_ENABLED=0
cd -- "$here"

skip() {
  echo "helm: skipped, $1"
  exit 77
}

command -v go >/dev/null 2>&1 || skip "there is no go"
modules=$(go list -deps . 2>&1 >/dev/null) || skip "$(tail -n 1 <<<"$modules")"
mkdir -p -- "$build/helm"
nice -n 10 go build -p 2 -buildvcs=false -o "$build/helm/check" .
"$build/helm/check" -root "$here/../.." -batond "$build/bin/batond" -guard "$build/bin/baton-guard"
