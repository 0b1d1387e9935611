#!/bin/sh
# What the commands make of each name that the tasks of an array have. names_24.11.txt is what a real site's own said. What differs by nature
# (numbers, times, nodes) is masked or not asked for.
set -u
until_true() { for _ in $(seq 300); do if "$@"; then return; fi; sleep 0.2; done; echo "not within a minute: $*"; }
array=$(sbatch --parsable --hold -J names --mem 100M -t 10 --array 0-7%2 -o /dev/null --requeue --wrap 'sleep 600')
scontrol hold "${array}_7"
scontrol release "$array"
scontrol hold "${array}_[6-7]"
running() { [ "$(squeue -h -r -j "$array" -t R -o %i | wc -l)" = "$1" ]; }
until_true running 2
number() { squeue -h -r -j "${array}_$1" -o %A; }
zero=$(number 0) one=$(number 1)
sorted() { "$@" | sort; }

# try COMMAND...: run it, and print what it said, with the numbers of this run by name.
try() {
	"$@" >out 2>err
	rc=$?
	{
		echo "\$ $* -> $rc"
		cat out
		sed 's/^/E: /' err
	} | sed -e "s/$zero/ZERO/g" -e "s/$one/ONE/g" -e "s/$array/ARRAY/g" -e 's/ *$//'
}
states() { try sorted squeue -h -r -j "$array" -t all -o '%K %t'; }

echo "# squeue" # brackets are not for squeue 24.11
for r in "${array}_0" "$zero" "${array}_0,${array}_1" "$zero,$one" "${array}_3" "${array}_99" "${array}_0,${array}_99" 1; do
	try sorted squeue -h -o '%i %F %K %t' -j "$r"
done
states
echo "# scontrol show job"
record() { scontrol -o show job "$1" | grep -Eo 'ArrayJobId=[^ ]*|ArrayTaskId=[^ ]*|JobState=[^ ]*' | sort; }
for r in "${array}_0" "$zero" "${array}_3"; do
	try record "$r"
done
for r in "${array}_99" 1 "${array}_[0-1]" "${array}_0,${array}_1"; do
	try scontrol show job "$r"
done
echo "# scontrol update"
for r in "${array}_0" "$zero" "${array}_4" "${array}_[0-1]" "${array}_3,${array}_4" "${array}_99" "${array}_[3,99]" 1; do
	try scontrol update "jobid=$r" comment=changed
done
try sorted squeue -h -r -j "$array" -t all -o '%K %k'
try scontrol update "jobid=${array}_0" timelimit=9
try scontrol update "jobid=$one" timelimit=9
try scontrol update "jobid=${array}_3" timelimit=8
try sorted squeue -h -r -j "$array" -t all -o '%K %l'
try scontrol update "jobid=${array}_0" partition=short
try scontrol update "jobid=${array}_[0,3]" nice=7
echo "# scontrol hold, release"
for r in "${array}_3" "${array}_[4-5]" "${array}_0" "$zero" "${array}_99" "${array}_[5,99]" 1; do
	try scontrol hold "$r"
done
states
for r in "${array}_3" "${array}_[4-5]" "${array}_0" "$zero" "${array}_99" 1; do
	try scontrol release "$r"
done
states
echo "# scontrol requeue, requeuehold"
for r in "${array}_3" "${array}_99" "${array}_[3,99]" 1; do
	try scontrol requeue "$r"
	try scontrol requeuehold "$r"
done
try scontrol requeuehold "${array}_0"
waits() { [ "$(squeue -h -r -j "${array}_$1" -o %t)" = PD ]; }
until_true waits 0
try scontrol requeuehold "$one"
until_true waits 1
until_true running 2
try scontrol release "$zero"
try scontrol release "${array}_1"
echo "# scancel"
for r in "${array}_99" "${array}_[4,99]" 1; do
	try scancel "$r"
	try scancel -v "$r"
done
try scancel "$zero"
try scancel "${array}_1"
try scancel "${array}_[4-5]"
try scancel "${array}_6" "${array}_7"
left() { [ "$(squeue -h -r -j "$array" -o %K | sort | tr '\n' ' ')" = "2 3 " ]; }
until_true left
try scancel "${array}_0"
try scancel -v "${array}_0"
try scontrol update "jobid=${array}_0" comment=late
try scontrol hold "${array}_0"
try scancel "$array"

echo "# the array's own number"
one=no-number zero=no-number
# own ARRAY-OPTION N: an array of which N tasks run
own() {
	array=$(sbatch --parsable -J own --mem 100M -t 10 --array "$1" -o /dev/null --requeue --wrap 'sleep 600')
	until_true running "$2"
}
fields() { scontrol -o show job "$1" | grep -Eo '(ArrayTaskId|JobState|TimeLimit|Partition|Comment|Nice)=[^ ]*' | tr '\n' ' ' | sed 's/ArrayTaskId/\n&/g' | sort; }
own 0-3%2 2
try scontrol update "jobid=$array" comment=all
try scontrol update "jobid=$array" timelimit=9 nice=3
try scontrol update "jobid=$array" partition=short
try scontrol update "jobid=$array" features=nosuch
try scontrol update "jobid=$array" admincomment=x
try fields "$array"
try scontrol hold "$array"
try scontrol release "$array"
try scontrol requeue "$array"
scancel "$array"
own 0-1 2
try sorted squeue -h -o '%F %K %t' -j "$array"
try fields "$array"
same() { squeue -h -j "$array" -o '%A %K' | grep -c "^$array "; } # the last task has it
try same
scancel "${array}_0"
until_true running 1
try scontrol update "jobid=$array" comment=one
try scontrol hold "$array"
try scontrol release "$array"
try scontrol update "jobid=$array" partition=short
scancel "$array"
running_none() { running 0; }
until_true running_none
try scontrol update "jobid=$array" comment=none
try scontrol hold "$array"
