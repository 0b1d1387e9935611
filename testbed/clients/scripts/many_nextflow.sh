#!/bin/sh
# many_nextflow.sh JOBS: a workflow of many jobs by Nextflow.
set -eu
export NXF_HOME="$PWD/nxf" NXF_OFFLINE=true NXF_DISABLE_CHECK_LATEST=true
mkdir out
cat >nextflow.config <<'C'
process { executor = 'slurm'; queue = 'main'; memory = '100 MB'; time = '5m'; clusterOptions = '--account=physics' }
executor { queueSize = 1000; pollInterval = '1 sec'; queueStatInterval = '5 sec'; dumpInterval = '5 min' }
C
cat >many.nf <<N
process one { input: val n; script: ": >$PWD/out/\$n" }
workflow { Channel.of(0..<$1) | one }
N
nextflow -q run many.nf -ansi-log false >run.log 2>&1 || { tail -50 run.log; exit 1; }
