package golden

func init() { exceptions = append(exceptions, accountExceptions...) }

// accountExceptions are those of sacct and sinfo.
var accountExceptions = []exception{
	{cmds: []string{"sacct", "sacct -X", "sacct -S 01/01 -E now -X"}, cut: `(?m)^6_\[2-5%2\] .*\n`,
		why: "the recorded site did not list the tasks of the array that waited; real 24.11 does where they wait for a free place"},
	{cmds: []string{`env SLURM_TIME_FORMAT=%s sacct --allusers --starttime=now-24hours --parsable2 --noheader --format=JobID,JobName,State,Start,End,Elapsed,ExitCode,NodeList,Partition,Priority,User,WorkDir,Account,Group,Cluster,NNodes,AllocCPUS,AllocNodes,TimelimitRaw,ReqTRES`},
		cut: `(?m)^6_\[2-5%2\]\|.*\n|main\|(0|33333)\|`,
		why: "the same; and slurmdbd recorded the priority that job 3 had while it was held"},
	{cmds: []string{"sacct --json -S1970-01-01-00:00:01"},
		keys: []string{".jobs[].comment.job", ".jobs[].time.elapsed", ".jobs[].steps[].time.elapsed", ".jobs[].tres.allocated*"},
		why:  "ours keeps comments always; job 1 runs on; Slurm 24.11 says -2 joules"},
	{cmds: []string{"sinfo --json"}, keys: []string{".sinfo[].cluster", ".sinfo[].partition.tres.configured"},
		why: "ours says of which site a node is; licenses belong to no partition of ours"},
}
