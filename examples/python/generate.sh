#!/bin/sh
# Makes the Python stubs of Baton's protos in the given folder. It needs Debian's protobuf-compiler and
# protobuf-compiler-grpc; the stubs need python3-grpcio and python3-protobuf.
set -eu
cd "$(dirname "$0")/../../proto"
mkdir -p "$1"
protoc -I . --python_out="$1" --grpc_out="$1" \
  --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" \
  baton/v1/sidecar.proto baton/v1/routing.proto
