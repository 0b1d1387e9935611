#!/bin/sh
# setup.sh [build|python|testbed|database|packages|test]: install what "make build" needs and this machine lacks, or what real Slurm clusters on this machine need beyond that, or
# PostgreSQL, or what packages are made with, or the programs that the tests run; the first two if none is named. Quick when there is nothing to do.
set -eu
cd "$(dirname "$0")/../.."
missing=
need() { # need FILE-OR-COMMAND PACKAGE
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac || missing="$missing $2"
}
if [ "${1:-build}" = build ]; then
	need gcc gcc
	need /usr/include/stdlib.h libc6-dev
	need git git
	need /etc/ssl/certs/ca-certificates.crt ca-certificates
fi
if [ "${1:-testbed}" = testbed ]; then
	need debootstrap debootstrap
	need zstd zstd
	need ip iproute2
	need curl curl # machines fetch their agent with it
fi
if [ "${1:-}" = test ] || [ "${1:-}" = python ]; then
	need /usr/bin/python3 python3
	need "$(echo /usr/lib/python3*/ensurepip/__init__.py)" python3-venv
fi
if [ "${1:-}" = test ]; then
	need mpirun.openmpi openmpi-bin
	need mpicc.openmpi libopenmpi-dev
	need "$(echo /usr/include/*/mpich/mpi.h)" libmpich-dev
	need "$(echo /usr/lib/*/libpmi2.so.0)" libpmi2-0
	need pkg-config pkgconf
	need pgrep procps
	need python3 python3
	need mandoc mandoc # judges of the manual pages and the completions
	need zsh zsh
	need fish fish
	need crun crun # containers of steps
	need podman podman
	need mksquashfs squashfs-tools
	need /usr/share/doc/busybox-static busybox-static
	need chromium-headless-shell chromium-headless-shell # which opens the page
	need promtool prometheus # which reads our rules, and scrapes a daemon
	need /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf fonts-dejavu-core
	need lintian lintian # judges of the packages, their units and scripts
	need rpm rpm
	need shellcheck shellcheck
	need systemd-analyze systemd
	need objdump binutils
	need /usr/share/doc/libnss-extrausers libnss-extrausers # users that are in no file of the machine
fi
if [ "${1:-}" = test ] || [ "${1:-}" = packages ]; then
	need python3 python3
	python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
fi
if [ "${1:-}" = test ] || [ "${1:-}" = database ]; then
	need "$(echo /usr/lib/postgresql/*/bin/initdb)" postgresql # tests start their own servers
	if [ -n "${FSUB_FULL:-}" ]; then
		need patroni patroni
		need /usr/lib/python3/dist-packages/pysyncobj python3-pysyncobj
	fi
	case $missing in *postgresql*) # and no other is to run
		[ "$(id -u)" != 0 ] || { mkdir -p /etc/postgresql-common/createcluster.d && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/fsub.conf; } ;;
	esac
fi
case $missing in *prometheus*) # only its programs are wanted: no service is to start with the package
	[ "$(id -u)" != 0 ] || [ -e /etc/systemd/system/prometheus.service ] || { mkdir -p /etc/systemd/system && ln -s /dev/null /etc/systemd/system/prometheus.service; } ;;
esac
# shellcheck disable=SC2086
[ -z "$missing" ] || testbed/setup/apt.sh $missing
if [ ! -e /etc/hosts ] && [ "$(id -u)" = 0 ]; then # as debootstrap leaves a system: nodes of this machine have theirs mounted on it
	echo "set-up: making /etc/hosts" >&2
	printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >/etc/hosts
fi
testbed/setup/go.sh >/dev/null
