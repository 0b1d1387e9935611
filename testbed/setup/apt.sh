#!/bin/sh
# apt.sh PACKAGE...: install packages of the system. Says in one line what it does; shows apt's own words only when it fails.
set -eu
if [ "$(id -u)" != 0 ]; then
	echo "set-up: this machine lacks: $*. Install them, or run make as root once" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "set-up: this machine lacks: $* (names of Debian's packages), and has no apt-get to install them with" >&2
	exit 1
fi
echo "set-up: installing $*" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null; }
apt update || true # a source that fails is no reason to stop: the others may have the packages
if ! apt install --no-install-recommends "$@"; then
	tail -n 40 "$log" >&2
	echo "set-up: apt-get could not install $* (its words are above)" >&2
	exit 1
fi
