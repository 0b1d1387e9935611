#!/bin/bash
# provide.sh NAME 'PYTHON...' PACKAGE...: make the virtual environment $CACHE/NAME with packages of PyPI, of the first of these versions of Python that is here.
# What is there already is not made again; with FSUB_FULL unset nothing is made. Exit status 75: it cannot be had now.
set -euo pipefail
cache=/var/cache/fsub-frameworks
name=$1 versions=$2
shift 2
dir=$cache/$name
if [ "$(cat "$dir/packages" 2>/dev/null)" = "$*" ]; then exit; fi
if [ -z "${FSUB_FULL:-}" ]; then
	echo "PyPI's $* is not in $dir: FSUB_FULL=1 fetches it"
	exit 75
fi
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
python=
for v in $versions; do
	for p in "$(command -v "python$v" || true)" "$HOME/.pyenv/versions/$v".*/bin/python3; do
		if [ -z "$python" ] && "$p" -c "import sys, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '$v')" 2>/dev/null; then python=$p; fi
	done
done
if [ -z "$python" ]; then
	echo "no Python of version $versions with ensurepip is here"
	exit 75
fi
rm -rf "$dir"
"$python" -m venv "$dir"
pip() { "$dir/bin/pip" --disable-pip-version-check install -q --no-cache-dir "$@" || exit 75; }
for step in "$@"; do # one after the other: some build with what was there before
	DS_BUILD_OPS=0 pip --no-build-isolation $step
done
echo "$*" >"$dir/packages"
