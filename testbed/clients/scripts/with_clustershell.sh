#!/bin/sh
# ClusterShell with the group bindings for Slurm that it brings: nodes by partition, by state, by job and by user.
set -eu
. "$(dirname "$0")/show.sh"
version clustershell "$(nodeset --version | sed 's/.* //')"
etc=$(dirname "$(dirname "$(dirname "$(command -v nodeset)")")")/etc/clustershell
mkdir -p conf/groups.conf.d
cp "$etc"/groups.conf.d/slurm.conf.example conf/groups.conf.d/slurm.conf
printf '[Main]\ndefault: sp\nconfdir: $CFGDIR/groups.conf.d\n' >conf/groups.conf
export CLUSTERSHELL_CFGDIR="$PWD/conf"

all="alpha[1-4],beta[1-6],gamma[1-4]"
[ -n "${FSUB_SOCKET-}" ] || all="alpha[1-4]" # a site's own commands know its own nodes
[ "$(nodeset -f -s sp @main)" = "$all" ]
[ "$(nodeset -c -a)" = "$(nodeset -c "$all")" ]
[ "$(nodeset -l -s sp | sort | tr '\n' ' ')" = "@sp:main @sp:short " ] || [ "$(nodeset -l | sort | tr '\n' ' ')" = "@main @short " ]
shown partitions

id=$(sbatch --parsable -N 2 -t 5 -o /dev/null --wrap "sleep 600")
runs() { [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; }
until_true "a job runs" runs
[ "$(nodeset -f "@sj:$id")" = "$(squeue -h -j "$id" -o %N)" ]
[ "$(nodeset -c "@sj:$id")" = 2 ]
[ "$(nodeset -c "@su:$USER")" = 2 ]
shown jobs
busy() { # nodes are looked at every few seconds
	rm -rf conf/cache
	[ "$(nodeset -f "@sj:$id" -i "$(nodeset -f @st:mixed @st:allocated)")" = "$(nodeset -f "@sj:$id")" ]
}
until_true "its nodes are busy" busy
shown states
scancel "$id"
gone() { [ -z "$(nodeset -f "@sj:$id")" ]; }
rm -rf conf/cache
until_true "its nodes are free" gone
shown cancel
