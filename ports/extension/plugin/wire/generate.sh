#!/bin/sh
# Writes the Go code of the protocol, where protoc is installed (Debian: protobuf-compiler). The code is committed, so that
# only those who change the protocol need it.
set -eu
command -v protoc >/dev/null || { echo "protoc is not installed: the code of the protocol stays as it is" >&2; exit 0; }
bin=$(mktemp -d)
trap 'rm -r "$bin"' EXIT
for plugin in google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc; do
	go build -modfile=proto.mod -o "$bin/" "$plugin"
done
PATH=$bin:$PATH protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative extension.proto
