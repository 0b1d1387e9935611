#!/bin/sh
# slurmgrid: the lines of a table as arrays in chunks, retried and followed by sacct.
set -eu
. "$(dirname "$0")/show.sh"
version "$(slurmgrid --version)"
printf 'n,word\n1,one\n2,two\n3,three\n4,four\n5,five\n' >table.csv
grid() { slurmgrid submit --manifest "$1" --command "$2" --state-dir "$3" --chunk-size 2 --max-retries 0 --poll-interval 1 --headroom 0 --no-shuffle --partition main --time 00:05:00 --mem 100M; }
grid table.csv 'echo {n} {word} >>'"$PWD"'/said' good >good.log 2>&1 || { tail -n 30 good.log; exit 1; }
shown submit
[ "$(sort said | wc -l)" = 5 ]
grep -q '^4 four$' said
shown chunks
slurmgrid status --state-dir good >status.txt
grep -q 'Completed: *5' status.txt || { cat status.txt; exit 1; }
shown poll
grid table.csv 'test {n} != 3' bad >bad.log 2>&1 || true
slurmgrid status --state-dir bad >status.txt
grep -q 'Failed (final): *1' status.txt || { cat status.txt; exit 1; }
shown fail
