#!/bin/sh
# GridTK: jobs in a database of its own beside sacct's states: arrays, dependencies by its own numbers, stopping and submitting again.
set -eu
. "$(dirname "$0")/show.sh"
version "gridtk $(python3 -c 'from importlib.metadata import version as v; print(v("gridtk"))')"
job() { gridtk submit -p main --mem 100M --time 5 "$@" >>submit.log 2>&1 || { cat submit.log; exit 1; }; }
printf '#!/bin/sh\nsleep 1\necho hello $SLURM_ARRAY_TASK_ID\n' >hello.sh
printf '#!/bin/sh\nexit 3\n' >bad.sh
printf '#!/bin/sh\nsleep 600\n' >slow.sh
chmod 755 ./*.sh
job -J hello hello.sh
job -J several -a 1-3 hello.sh
job -J after -d 1 hello.sh
job -J bad bad.sh
job -J slow slow.sh
shown submit
list() { gridtk list --jobs "$1" 2>&1; }
is() { list "$1" | grep -q "$2"; }
until_true "hello ends" is 1 'COMPLETED'
gridtk report --jobs 1 | grep -q hello
shown poll
until_true "the array ends" is 2 'COMPLETED'
[ "$(cat logs/several*.out | grep -c hello)" = 3 ]
shown array
until_true "what depends on it ends" is 3 'COMPLETED'
shown depend
until_true "bad fails" is 4 'FAILED'
shown fail
until_true "slow runs" is 5 'RUNNING'
gridtk stop --jobs 5 >stop.log 2>&1
until_true "slow is cancelled" is 5 'CANCELLED'
shown cancel
