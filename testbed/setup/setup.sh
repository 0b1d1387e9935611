#!/bin/sh
# setup.sh: install what "make build" and "make test" need and this machine lacks. Quick when there is nothing to do.
set -eu
cd "$(dirname "$0")/../.."
missing=
need() { # need FILE-OR-COMMAND PACKAGE
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac || missing="$missing $2"
}
need gcc gcc
need /usr/include/stdlib.h libc6-dev
need git git
need debootstrap debootstrap
need zstd zstd
need ip iproute2
need /etc/ssl/certs/ca-certificates.crt ca-certificates
# shellcheck disable=SC2086
[ -z "$missing" ] || testbed/setup/apt.sh $missing
testbed/setup/go.sh >/dev/null
