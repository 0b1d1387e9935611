#!/bin/sh
# Snakemake with its Slurm executor: --parsable submissions with a comment, one sacct or squeue by name for all, arrays of rules.
set -eu
. "$(dirname "$0")/show.sh"
version snakemake-executor-plugin-slurm "$(python3 -c 'from importlib.metadata import version as v; print(v("snakemake-executor-plugin-slurm"), "with snakemake", v("snakemake"))')"

cat >Snakefile <<'S'
rule all:
    input: "sum.txt"
rule number:
    output: "part/{n}.txt"
    shell: "echo {wildcards.n} >{output}"
rule sum:
    input: expand("part/{n}.txt", n=range(1, 5))
    output: "sum.txt"
    shell: "cat {input} | tr '\\n' ' ' >{output}"
rule bad:
    output: "bad.txt"
    shell: "exit 3"
rule slow:
    output: "slow.txt"
    shell: "sleep 600"
S
run() {
	env --default-signal=INT python3 -m snakemake --executor slurm --jobs 8 --latency-wait 30 \
		--default-resources mem_mb=100 runtime=5 slurm_partition=main slurm_account=physics \
		--slurm-init-seconds-before-status-checks 3 "$@"
}
runs() { [ "$(squeue -h --me -o %T)" = RUNNING ]; }

run >run.log 2>&1 || { cat run.log; exit 1; }
[ "$(cat sum.txt)" = "1 2 3 4 " ]
shown submit
shown poll
shown depend

run --forceall --slurm-array-jobs number >array.log 2>&1 || { cat array.log; exit 1; }
shown array

if run bad.txt >bad.log 2>&1; then
	echo "a rule that fails went unnoticed"
	exit 1
fi
grep -q 'Error in rule bad' bad.log
shown fail

run slow.txt >slow.log 2>&1 &
until_true "slow runs" runs
until_true "its job was cancelled" interrupted $!
shown cancel
