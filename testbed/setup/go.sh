#!/bin/sh
# go.sh [--path]: print the path of a Go that is as new as go.mod's toolchain, or newer. With --path a missing one is only named, without it is
# installed: any Go from the system's packages can download a newer one as a module.
set -eu
cd "$(dirname "$0")/../.."
want=$(awk '$1=="toolchain"{sub(/^go/, "", $2); print $2; exit}' go.mod)
newer() { # newer A B: A >= B
	[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}
version() { HOME=${HOME:-/} GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//'; }

for go in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go-*/bin/go; do
	if [ -x "$go" ] && v=$(version "$go") && [ -n "$v" ] && newer "$v" "$want"; then echo "$go"; exit; fi
done
arch=$(dpkg --print-architecture)
dir=/usr/local/lib/fsub-go
own=$dir/go$want/bin/go
if [ -x "$own" ] || [ "${1:-}" = --path ]; then echo "$own"; exit; fi

if [ "$(id -u)" != 0 ]; then
	echo "set-up: no Go $want or newer on this machine. Install it, or run make as root once" >&2
	exit 1
fi
command -v go >/dev/null || testbed/setup/apt.sh golang-go ca-certificates
echo "set-up: installing Go $want under $dir" >&2
mkdir -p "$dir"
tmp=$(mktemp -d -p "$dir")
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
module=golang.org/toolchain@v0.0.1-go$want.linux-$arch
printf 'module x\n' >"$tmp/go.mod"
if ! (cd "$tmp" && GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPATH="$tmp/path" GOMODCACHE="$tmp/mod" GOCACHE="$tmp/cache" go mod download "$module" >"$tmp/log" 2>&1); then
	cat "$tmp/log" >&2
	echo "set-up: Go $want could not be downloaded (the reason is above; GOPROXY says from where). Or install Go $want yourself" >&2
	exit 1
fi
chmod -R u+w "$tmp/mod"
chmod +x "$tmp/mod/$module"/bin/* "$tmp/mod/$module"/pkg/tool/*/*
mv -T "$tmp/mod/$module" "$dir/go$want" 2>/dev/null || [ -x "$own" ] # another make may have been faster
echo "$own"
