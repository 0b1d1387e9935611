#!/bin/sh
# Debian's Snakemake by its --cluster options: sbatch per rule, sacct in a status script, scancel when it is interrupted.
# Its jobs run the same Snakemake again at the sites.
set -eu
. "$(dirname "$0")/show.sh"
version snakemake "$(python3 -m snakemake --version)"

cat >Snakefile <<'S'
rule all:
    input: "sum.txt"
rule number:
    output: "part/{n}.txt"
    resources: mem_mb=100
    shell: "echo {wildcards.n} >{output}"
rule sum:
    input: expand("part/{n}.txt", n=range(1, 5))
    output: "sum.txt"
    shell: "cat {input} | paste -sd+ | bc >{output} || expr 1 + 2 + 3 + 4 >{output}"
rule bad:
    output: "bad.txt"
    shell: "exit 3"
rule slow:
    output: "slow.txt"
    shell: "sleep 600"
S
cat >status.sh <<'S'
#!/bin/sh
# a status script as profiles have it: running, success or failed
state=$(sacct -X -n -P -o State -j "$1" | head -1)
echo "$1 $state" >>status.log
case $state in
COMPLETED) echo success ;;
PENDING | RUNNING | COMPLETING | CONFIGURING | REQUEUED | SUSPENDED | "") echo running ;;
*) echo failed ;;
esac
S
chmod +x status.sh
run() {
	${snakemake:-python3 -m snakemake} --jobs 8 --latency-wait 30 --max-status-checks-per-second 5 "$@" \
		--cluster 'sbatch --parsable -J {rule} -t 5 --mem={resources.mem_mb} -o %x-%j.out' --default-resources mem_mb=100 \
		--cluster-status ./status.sh --cluster-cancel scancel
}

runs() { [ "$(squeue -h --me -n "$1" -o %T)" = RUNNING ]; }

run >run.log 2>&1 || { cat run.log; exit 1; }
[ "$(cat sum.txt)" = 10 ]
shown submit
grep -q COMPLETED status.log
shown poll
shown depend

if run bad.txt >bad.log 2>&1; then
	echo "a rule that fails went unnoticed"
	exit 1
fi
grep -q 'Error in rule bad' bad.log
shown fail

# the shell would have it ignore SIGINT in the background
snakemake="env --default-signal=INT python3 -m snakemake" run slow.txt >slow.log 2>&1 &
until_true "slow runs" runs slow
until_true "scancel was called" interrupted $!
shown cancel
