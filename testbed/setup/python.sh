#!/bin/bash
# python.sh: build the wheel and the sdist of each Python package below python/ into bin/python. Exit status 75: what builds them cannot be had now.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=bin/python venv=bin/tools/python
[ -e /usr/lib/python3/dist-packages ] && python=/usr/bin/python3 || python=python3
if ! "$venv/bin/python" -c 'import build, hatchling' 2>/dev/null; then
	rm -rf "$venv"
	"$python" -m venv "$venv"
	"$venv/bin/pip" --disable-pip-version-check install -q build hatchling >&2 || exit 75
fi
rm -rf "$out"
for project in python python/psij python/snakemake; do
	[ ! -e "$project/pyproject.toml" ] || "$venv/bin/python" -m build --no-isolation --outdir "$out" "$project" >"$venv/build.log" 2>&1 || { cat "$venv/build.log" >&2; exit 1; }
done
ls "$out"
