#!/bin/bash
# test.sh GO [ARG...]: run the tests of the project, ARGs being go test's, and end with a verdict: all of them, or with FSUB_CHANGED=1 those that
# the files changed since main can reach. What real Slurm needs is installed before the tests' own time begins.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=$1
shift
packages=./...
if [ "${FSUB_CHANGED:-}" = 1 ]; then
	if [ "${CI:-}" = true ]; then
		echo "test: CI tests everything" >&2
		exit 2
	fi
	packages=$("$go" run ./testbed/setup/changed)
	if [ -z "$packages" ]; then
		echo "test: no test reaches what was changed since main"
		exit 0
	fi
	printf 'testing what was changed since main, and what depends on it:\n%s\n' "$packages"
fi
[ "$(id -u)" != 0 ] || testbed/setup/setup.sh python
testbed/setup/python.sh || echo "test: the Python packages cannot be built now (see above): their tests will be skipped" >&2
if [ "$(id -u)" = 0 ]; then
	bin/bed up --all --install-only
	testbed/setup/setup.sh test
	testbed/clients/provide.sh debian || echo "test: Debian's client programs cannot be had now (see above): their tests will be skipped" >&2
else
	echo "test: you are not root: tests against real Slurm clusters will be skipped" >&2
fi
# Tests run the programs that were just built, and share what was compiled for them.
export FSUB_BIN=$PWD/bin GOFLAGS="${GOFLAGS:-} -trimpath"
"$go" vet ./... || { echo "TESTS FAILED: go vet (its words are above)" >&2; exit 1; }
"$go" build -o bin/verdict ./testbed/setup/verdict
# A test that fails is run again, to tell those that fail now and then from those that are broken. Two packages more than there are CPUs: the long ones wait for Slurm nearly all of their time.
exec bin/verdict -log bin/test.log -packages "$packages" "$go" test -json -vet=off -p $(($(nproc) + 2)) "$@"
