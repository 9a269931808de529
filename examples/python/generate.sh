#!/bin/sh
# Makes the Python stubs of Baton's protos in the given folder. It needs Debian's protobuf-compiler and
# protobuf-compiler-grpc; the stubs need python3-grpcio and python3-protobuf.
set -eu
for tool in protoc grpc_python_plugin; do
  command -v "$tool" >/dev/null || {
    echo "$0: no $tool on PATH: install protobuf-compiler and protobuf-compiler-grpc" >&2
    exit 1
  }
done
mkdir -p "$1"
out=$(cd "$1" && pwd)
protos=$(dirname "$0")/../../proto
[ -d "$protos" ] || protos=/usr/share/baton/proto # of Debian's package libbaton-dev
cd "$protos"
protoc -I . --python_out="$out" --grpc_out="$out" \
  --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" \
  baton/v1/sidecar.proto baton/v1/routing.proto
