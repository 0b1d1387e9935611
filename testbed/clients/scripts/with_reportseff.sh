#!/bin/sh
# reportseff: a table of efficiency from one sacct, whose fields it looks up in --helpformat.
set -eu
. "$(dirname "$0")/show.sh"
version reportseff "$(python3 -c 'from importlib.metadata import version as v; print(v("reportseff"))')"
submit() { sbatch --parsable -p main --mem 100M -t 5 "$@"; }

good=$(submit --wrap 'sleep 2')
bad=$(submit --wrap 'exit 3')
array=$(submit --array 0-2 -o 'array_%A_%a.out' --wrap 'true')
ended() { [ -z "$(squeue -h --me -o %i)" ]; }
until_true "all end" ended
report() { reportseff --no-color "$@" >report 2>report.err; }
right() { report "$good" "$bad" && grep -Eq "^ *$good +COMPLETED +[0-9:]+ " report && grep -Eq "^ *$bad +FAILED" report; }
until_true "jobs" right || { cat report report.err; exit 1; }
shown jobs
tasks() { report "$array" && [ "$(grep -c COMPLETED report)" = 3 ] && grep -q "${array}_2" report; }
until_true "tasks" tasks || { cat report; exit 1; }
shown array
report # by the names of the files of output
[ "$(grep -c COMPLETED report)" -ge 3 ]
shown files
report --user "$(id -un)" --since now-10minutes --state FAILED
grep -q "$bad" report
if grep -q "$good" report; then exit 1; fi
shown user
report --format "JobID,State,ReqMem,NodeList" "$good"
grep -q '100M' report
shown format
