#!/bin/sh
# govulncheck.sh GO TOOLS: run govulncheck where it can be installed and its database be reached; say loudly where not.
set -eu
out=$(mktemp); trap 'rm -f "$out"' EXIT
if ! GOBIN=$2 "$1" install golang.org/x/vuln/cmd/govulncheck@v1.9.0 >"$out" 2>&1; then
	echo "SKIPPED govulncheck: it cannot be installed here: $(grep -v '^go: downloading' "$out" | tail -n 1)"
	exit 0
fi
if "$2/govulncheck" ./... >"$out" 2>&1; then
	echo "govulncheck: no known vulnerability"
elif grep -qiE 'no such host|dial tcp|connection refused|fetching vulnerabilities|unexpected status|Forbidden|i/o timeout' "$out"; then
	echo "SKIPPED govulncheck: its database cannot be reached from here: $(tail -n 1 "$out")"
else
	cat "$out"; exit 1
fi
