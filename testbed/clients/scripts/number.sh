#!/bin/sh
# number.sh SITE: what an array's own number means, inside its tasks and outside; the task that starts last has it. SITE may be empty.
set -eu
. "$(dirname "$0")/show.sh"
cat >task.sh <<'T'
#!/bin/bash
#SBATCH -p main --mem 100M -t 5 --array 0-2 -o task-%a.out
touch began-$SLURM_ARRAY_TASK_ID
until [ -e go-$SLURM_ARRAY_TASK_ID ]; do sleep 0.1; done
whose=its-own
[ $SLURM_JOB_ID != $SLURM_ARRAY_JOB_ID ] || whose=the-array
echo "number: $whose"
for n in $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; do
	. ./ask.sh
done
scontrol update jobid=$SLURM_ARRAY_JOB_ID comment=by-$SLURM_ARRAY_TASK_ID
echo "comments:" $(squeue -h -j $SLURM_ARRAY_JOB_ID -o '%K=%k' | sort)
touch said-$SLURM_ARRAY_TASK_ID
until [ -e end ]; do sleep 0.1; done
T
cat >ask.sh <<'T'
echo "show:" $(scontrol -o show job $n | grep -Eo 'ArrayTaskId=[0-9]+|JobState=[A-Z]+' | paste - - | sort)
echo "numbers:" $(scontrol -o show job $n | grep -Eo '^JobId=[0-9]+' | sort -u | wc -l) $(scontrol -o show job $n | grep -c "^JobId=$array ")
echo "squeue:" $(squeue -h -j $n -o '%F_%K %t %A' | sed "s/$array/A/g" | sed 's/ [0-9]*$/ its-own/' | sort)
echo "sacct:" $(sacct -X -n -P -j $n -o jobid,jobidraw,state | sed "s/$array/A/g" | sed 's/|[0-9][0-9]*|/|its-own|/' | sort)
echo "steps:" $(scontrol show step $n | grep -Eo '^StepId=[^ ]*' | sed "s/$array/A/" | sort)
T
sed -i 's/^for n in/array=$SLURM_ARRAY_JOB_ID\nfor n in/' task.sh
chmod 755 ./*.sh
array=$(sbatch --parsable ${1:+-M "$1"} task.sh)
array=${array%;*}
began() { [ "$(ls began-* 2>/dev/null | wc -l)" = 3 ]; }
until_true "all begin" began
booked() { [ "$(sacct -X -n -P -j "$array" -o state | grep -c RUNNING)" = 3 ]; }
until_true "all are booked" booked
for i in 0 1 2; do
	touch "go-$i"
	until_true "task $i has asked" test -e "said-$i"
	echo "# task $i"
	cat "task-$i.out"
done
echo "# outside"
for n in "$array" "${array}_2"; do . ./ask.sh; done
touch end
