#!/bin/sh
# Cylc: directives, squeue with the job numbers of a batch, polling, and commands that it runs by bash -l.
set -eu
. "$(dirname "$0")/show.sh"
version cylc-flow "$(cylc version)"
commands=$(dirname "$(command -v sbatch)")
client=$(dirname "$(command -v cylc)")
export HOME="$PWD" CYLC_CONF_PATH="$PWD/conf" LC_ALL=C.UTF-8
# a login shell begins with PATH anew: what "fed shims install" says to write
echo "export PATH=$commands:$client:\$PATH" >.profile
mkdir -p conf
cat >conf/global.cylc <<'C'
[platforms]
    [[sites]]
        hosts = localhost
        install target = localhost
        job runner = slurm
        communication method = poll
        submission polling intervals = PT3S
        execution polling intervals = PT3S
        execution time limit polling intervals = PT3S
[scheduler]
    [[main loop]]
        plugins = 
C
flow() {
	mkdir -p "cylc-run/$1" # as "cylc install" would with rsync, which the sites lack
	cat >"cylc-run/$1/flow.cylc" <<C
[scheduler]
    allow implicit tasks = True
    [[events]]
        stall timeout = PT0S
        abort on stall timeout = True
[scheduling]
    [[graph]]
        R1 = $2
[runtime]
    [[root]]
        platform = sites
        execution time limit = PT5M
        [[[directives]]]
            --partition = main
            --mem = 100M
    [[first]]
        script = echo first >"\$CYLC_WORKFLOW_SHARE_DIR/word"
    [[second]]
        script = grep first "\$CYLC_WORKFLOW_SHARE_DIR/word"
    [[bad]]
        script = exit 3
    [[slow]]
        script = sleep 600
C
}
flow good 'first => second'
cylc play --no-detach good >good.log 2>&1 || { cat good.log; exit 1; }
shown submit
grep -q 'second.*succeeded' good.log
shown poll
shown depend
flow bad 'bad'
if cylc play --no-detach bad >bad.log 2>&1; then
	cat bad.log
	exit 1
fi
grep -q 'bad.*failed' bad.log
shown fail
flow slow 'slow'
cylc play slow >slow.log 2>&1 || { cat slow.log; exit 1; }
runs() { [ "$(squeue -h --me -o %T)" = RUNNING ]; }
gone() { [ -z "$(squeue -h --me -o %i)" ]; }
until_true "slow runs" runs
cylc kill slow//1/slow >kill.log 2>&1
until_true "its job is gone" gone
cylc stop --now --now slow >stop.log 2>&1 || true
shown cancel
