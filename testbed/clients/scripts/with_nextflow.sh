#!/bin/sh
# Nextflow: scripts with directives, one squeue of the user's jobs for all, arrays, scancel when it is interrupted.
set -eu
. "$(dirname "$0")/show.sh"
export NXF_HOME="$PWD/nxf" NXF_OFFLINE=true NXF_DISABLE_CHECK_LATEST=true
nf() { nextflow -q "$@" -ansi-log false; }
version nextflow "$(nextflow -v | tail -1)"

cat >nextflow.config <<'C'
process { executor = 'slurm'; queue = 'main'; memory = '100 MB'; time = '5m'; clusterOptions = '--account=physics' }
executor { pollInterval = '1 sec'; queueStatInterval = '2 sec'; dumpInterval = '1 min' }
C
cat >sum.nf <<'N'
process number { input: val n; output: path 'n.txt'; script: "echo $n >n.txt" }
process several { array 3; input: val n; output: path 'n.txt'; script: "echo $n >n.txt" }
process sum { publishDir '.', mode: 'copy'; input: path 'part*.txt'; output: path 'sum.txt'; script: "cat part*.txt | sort | tr '\\n' ' ' >sum.txt" }
workflow { Channel.of(1, 2) | number; Channel.of(3, 4, 5) | several; number.out.mix(several.out) | collect | sum }
N
cat >bad.nf <<'N'
process bad { script: "exit 3" }
workflow { bad() }
N
cat >slow.nf <<'N'
process slow { script: "sleep 600" }
workflow { slow() }
N
runs() { [ "$(squeue -h --me -o %T)" = RUNNING ]; }
gone() { [ -z "$(squeue -h --me -o %i)" ]; }

nf run sum.nf >run.log 2>&1 || { cat run.log; exit 1; }
shown submit
[ "$(cat sum.txt)" = "1 2 3 4 5 " ]
shown poll
sacct -X -n -P -o jobid -S now-10minutes | grep -q _2
shown array
shown depend

if nf run bad.nf >bad.log 2>&1; then
	echo "a process that fails went unnoticed"
	exit 1
fi
grep -q 'terminated with an error exit status (3)' bad.log
shown fail

nextflow -q run slow.nf -ansi-log false >slow.log 2>&1 &
client=$!
until_true "slow runs" runs
kill "$client"
until_true "its job is gone" gone
sacct -X -n -P -o state -S now-10minutes | grep -q CANCELLED
shown cancel
