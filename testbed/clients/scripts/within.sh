#!/bin/sh
# within.sh SITE: an array's tasks use the names that they have within the job, at SITE; the middle one requeues itself.
set -eu
. "$(dirname "$0")/show.sh"
cat >task.sh <<'T'
#!/bin/sh
#SBATCH -p main --mem 100M -t 5 --array 0-2 -o task-%a.out --requeue --open-mode append
say() { echo "$SLURM_ARRAY_TASK_ID.${SLURM_RESTART_COUNT:-0} $*"; }
index=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
names="$SLURM_JOB_ID $index"
if [ "$SLURM_JOB_ID" = "$SLURM_ARRAY_JOB_ID" ]; then
	scontrol show job "$SLURM_JOB_ID" >/dev/null # whoever asks of his own job is seen to run
	names=$index
fi
for name in $names; do
	say show $(scontrol -o show job "$name" | grep -Eo 'ArrayTaskId=[0-9]+|JobState=[A-Z]+')
	say squeue $(squeue -h -j "$name" -o '%K %t')
	say sacct $(sacct -X -n -P -j "$name" -o state)
	scontrol update jobid="$name" comment="by-$SLURM_ARRAY_TASK_ID" && say updated $(squeue -h -j "$name" -o '%K %k')
	scontrol hold "$name" && scontrol release "$name" && say held and released
	scontrol show step "$name" | grep -q "^StepId=" && say has a step
done
after=$(sbatch --parsable -p main --mem 100M -t 5 -o /dev/null -d "afterany:$SLURM_JOB_ID" --wrap true)
say $(squeue -h -j "$after" -o %r)
scancel "$after"
if [ "$SLURM_ARRAY_TASK_ID.${SLURM_RESTART_COUNT:-0}" = 1.0 ]; then
	scontrol requeue "$index"
	sleep 100
fi
T
array=$(sbatch --parsable -M "$1" task.sh)
array=${array%;*}
ended() { [ "$(sacct -X -n -P -j "$array" -o state | grep -c COMPLETED)" = 3 ]; }
until_true "all end" ended || { squeue -r -j "$array"; sacct -X -j "$array"; }
grep -hv 'DUE TO JOB REQUEUE' task-?.out # slurmstepd's own line
