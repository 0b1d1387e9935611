#!/bin/sh
# fuzz.sh GO TIME: run every fuzz target of the project for so long, one after the other.
# An input that is new is made smaller in a hundred tries: where an order of a map decides which code runs, Go would take a minute for each.
set -eu
cd "$(dirname "$0")/../.."
grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9_]+' . | while IFS=: read -r file _ func; do
	name=${func#func }
	echo "== $(dirname "$file") $name"
	"$1" test -run '^$' -fuzz "^$name\$" -fuzztime "$2" -fuzzminimizetime 100x "./$(dirname "$file")"
done
