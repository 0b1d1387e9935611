package srun

import (
	"testing"
)

const cannot = "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1"

// words are what srun says and returns, on a job of two nodes with three CPUs and one. They are srun 24.11's, whose lines come in any order; where ours
// are others, the last field says why.
var words = []struct {
	name, script, out, errs string
	code                    int
	differs                 string
}{
	{"exit codes", `srun -n3 bash -c 'exit $SLURM_PROCID'`, "", "srun: error: n1: task 1: Exited with exit code 1\nsrun: error: n2: task 2: Exited with exit code 2", 2, ""},
	{"tasks together", `srun -n4 false`, "", "srun: error: n1: tasks 0-2: Exited with exit code 1\nsrun: error: n2: task 3: Exited with exit code 1", 1, ""},
	{"killed", `srun -n2 bash -c 'kill -9 $$'`, "", "srun: Force Terminated StepId X\nsrun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed", 137, ""},
	{"terminated", `srun -n2 bash -c '[ $SLURM_PROCID = 0 ] && kill -15 $$; exit 0'`, "", "srun: Force Terminated StepId X\nsrun: error: n1: task 0: Terminated", 143, ""},
	{"fault", `ulimit -c 0; srun -N1 -n1 -w $SLURMD_NODENAME bash -c 'kill -SEGV $$'`, "", "srun: error: n1: task 0: Segmentation fault", 139, ""},
	{"a signal counts more", `srun -N1 -n3 -w $SLURMD_NODENAME bash -c '[ $SLURM_PROCID = 1 ] && kill -9 $$; [ $SLURM_PROCID = 2 ] && exit 200; exit 0'`, "",
		"srun: Force Terminated StepId X\nsrun: error: n1: task 1: Killed\nsrun: error: n1: task 2: Exited with exit code 200", 137, ""},
	{"no such file", `srun -n1 -w $SLURMD_NODENAME /nosuch`, "", "slurmstepd: error: execve(): /nosuch: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2\n" + cannot, 2, ""},
	{"no such command", `srun -N1 -n1 -w $SLURMD_NODENAME nosuchcmd`, "", "slurmstepd: error: execve(): nosuchcmd: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2", 2, ""},
	{"not executable", `srun -N1 -n1 -w $SLURMD_NODENAME /etc/passwd`, "", "slurmstepd: error: execve(): /etc/passwd: Permission denied\nsrun: error: n1: task 0: Exited with exit code 13", 13, ""},
	{"no such directory", `srun -N1 -n1 -D /nosuchdir pwd`, "/tmp", "slurmstepd: error: couldn't chdir to `/nosuchdir': No such file or directory: going to /tmp instead", 0, "slurmstepd says it twice"},
	{"kill on bad exit", `srun -K -n4 bash -c '[ $SLURM_PROCID = 1 ] && exit 5; exec sleep 60'`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\n" +
		"srun: Force Terminated StepId X\nsrun: Terminating StepId X\nsrun: error: n1: task 1: Exited with exit code 5\nsrun: error: n1: tasks 0,2: Terminated\n" +
		"srun: error: n2: task 3: Terminated", 143, ""},
	{"no kill on bad exit", `SLURM_KILL_BAD_EXIT=1 srun -K0 -n2 bash -c '[ $SLURM_PROCID = 1 ] && exit 5; sleep 0.2'`, "", "srun: error: n2: task 1: Exited with exit code 5", 5, ""},
	{"wait", `srun -W5 -n4 bash -c 'touch up$SLURM_PROCID; [ $SLURM_PROCID = 1 ] && until [ -e up0 -a -e up2 -a -e up3 ]; do sleep 0.01; done && exit 0; exec sleep 60'`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: First task exited 5s ago\n" +
		"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: StepId X task 1: exited\nsrun: StepId X tasks 0,2-3: running\nsrun: Terminating StepId X\n" +
		"srun: error: n1: tasks 0,2: Killed\nsrun: error: n2: task 3: Killed", 137, ""},
	{"no command", `srun -n2`, "", "srun: fatal: No command given to execute.", 1, ""},
	{"no such option", `srun --nosuch x`, "", "Try \"srun --help\" for more information\nsrun: unrecognized option '--nosuch'", 255, ""},
	{"pattern", `srun -N1 -n1 -w $SLURMD_NODENAME -o out.%j.%t.%n.%N.%x.%%.%3t echo x; ls out.*; srun -N1 -n1 -o o.%s.%t bash -c 'echo o.$SLURM_STEP_ID.0'; ls o.* | cmp - o.*`, "out.4711.0.0.n1.test.%.000", "", 0, ""},
	{"labels in a file", `srun -n2 -l -o f bash -c 'echo x; echo e >&2'; sort f`, "0: e\n0: x\n1: e\n1: x", "", 0, ""},
	{"output none", `srun -n2 -o none bash -c 'echo x; echo y >&2'`, "", "", 0, ""},
	{"output of one task", `srun -n3 -o 1 bash -c 'echo x $SLURM_PROCID'`, "x 1", "", 0, ""},
	{"error file", `srun -n2 -e /proc/nosuch/x true`, "", "srun: error: Could not open stderr file: No such file or directory", 1, "slurmstepd waits for ever for the step that srun gave up (24.11.5)"},
	{"folders are made", `srun -N1 -n1 -w $SLURMD_NODENAME -o a/b/c echo x; srun -N1 -n1 -w $SLURMD_NODENAME -o d/e/%t echo y; cat a/b/c d/e/0`, "x\ny", "", 0, ""},
	{"a name like all", `srun -N1 -n1 -w $SLURMD_NODENAME -o all.txt echo x`, "x", "", 0, ""},
	{"as mpirun calls it", `srun --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --cpu-bind=none --nodes=2 --nodelist=$(scontrol show hostnames 2>/dev/null | paste -sd, | grep . || echo n1,n2) --ntasks=2 -l bash -c 'echo $SLURM_NODEID'`,
		"0: 0\n1: 1", "", 0, ""},
	{"append", `echo a >f; srun -N1 -n1 -o f --open-mode=append echo b; cat f`, "a\nb", "", 0, ""},
	{"input of one task", `srun -n3 -i 1 bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0\n1 hello\n2", "", 0, ""},
	{"input of all", `srun -n3 bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0 hello\n1 hello\n2 hello", "", 0, ""},
	{"input none", `srun -n2 -i none bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0\n1", "", 0, ""},
	{"input file", `echo hi > in; srun -n2 -i in bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0 hi\n1 hi", "", 0, ""},
	{"input per task", `echo a > in.0; echo b > in.1; srun -n2 -i in.%t bash -c 'echo $SLURM_PROCID $(cat)'`, "0 a\n1 b", "", 0, "now and then 24.11.5 never ends such a step"},
	{"no input file", `srun -n2 -i /nosuch cat`, "", "srun: error: Could not open stdin file: No such file or directory", 1, "slurmstepd waits for ever for the step that srun gave up (24.11.5)"},
	{"label of half a line", `srun -l -n2 printf 'a\nb'`, "0: a\n0: b\n1: a\n1: b", "", 0, ""},
	{"wide labels", `srun -l -n11 -O bash -c 'echo $SLURM_PROCID' | grep -e '^ 9: 9' -e '^10: 10'`, " 9: 9\n10: 10", "", 0, ""},
	{"export none", `srun -N1 -n1 -w $SLURMD_NODENAME --export=NONE env`, "", "slurmstepd: error: execve(): env: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2", 2, ""},
	{"export some", `B=2 C=3 srun -N1 -n1 --export=A=1,B /bin/bash -c 'echo $A $B $C.$SLURM_JOB_ID'`, "1 2 .4711", "", 0, ""},
	{"export more", `srun -N1 -n1 --export=ALL,A=1 bash -c 'echo $A ${HOME:+home}'`, "1 home", "", 0, ""},
	{"programs", "printf '0 echo zero %%t %%o\\n1-2 echo \"a b\" %%t %%o\\n* echo rest %%t %%o\\n' > mp; srun -n4 -l --multi-prog mp", "0: zero 0 0\n1: \"a b\" 1 0\n2: \"a b\" 2 1\n3: rest 3 3", "", 0, ""},
	{"missing program", `printf '0 echo zero\n' > mp; srun -n4 -l --multi-prog mp`, "", "srun: error: Configuration file mp invalid, no record for task id 1", 1, ""},
	{"no programs", `srun --multi-prog /nosuch`, "", "srun: error: Could not open multi_prog config file /nosuch", 1, ""},
	{"relative and nodelist", `srun -r1 -N1 -n1 -w $SLURMD_NODENAME true`, "", "srun: error: -r,--relative not allowed with -w,--nodelist or -x,--exclude.", 1, ""},
	{"what options say", `base() { srun -N1 -n1 -w $SLURMD_NODENAME "$@" env | grep '^SLURM' | grep -vE '^SLURM_(STEP_?ID|TASK_PID|SRUN_COMM_PORT|STEP_LAUNCHER_PORT|PRIO_PROCESS)=' | sort; }
		base > base; for a in -u -K -O -c1 --exact --overlap '-m block' '-m cyclic:cyclic' '-m plane=2' --ntasks-per-node=1 --cpu-bind=none --cpu-bind=v,cores --cpu-bind=map_cpu:0 \
			--threads-per-core=1 --hint=nomultithread --ntasks-per-core=1 '-J foo' --external-launcher --oom-kill-step=1 --mem=10 -t5 --mpi=none; do
			base $a 2>/dev/null | sed 's/^0: //' | comm -13 base - | sed "s/^/$a: /"; done`,
		"--cpu-bind=map_cpu:0: SLURM_CPU_BIND=quiet,map_cpu:0\n--cpu-bind=map_cpu:0: SLURM_CPU_BIND_LIST=0\n--cpu-bind=map_cpu:0: SLURM_CPU_BIND_TYPE=map_cpu:\n--cpu-bind=map_cpu:0: SLURM_CPU_BIND_VERBOSE=quiet\n--cpu-bind=none: SLURM_CPU_BIND=quiet,none\n--cpu-bind=none: SLURM_CPU_BIND_LIST=\n--cpu-bind=none: SLURM_CPU_BIND_TYPE=none\n--cpu-bind=none: SLURM_CPU_BIND_VERBOSE=quiet\n--cpu-bind=v,cores: SLURM_CPU_BIND=verbose,cores\n--cpu-bind=v,cores: SLURM_CPU_BIND_LIST=\n--cpu-bind=v,cores: SLURM_CPU_BIND_TYPE=cores\n--cpu-bind=v,cores: SLURM_CPU_BIND_VERBOSE=verbose\n--exact: SLURM_CPUS_ON_NODE=1\n--external-launcher: SLURM_CPU_BIND=quiet,none\n--external-launcher: SLURM_CPU_BIND_LIST=\n--external-launcher: SLURM_CPU_BIND_TYPE=none\n--external-launcher: SLURM_CPU_BIND_VERBOSE=quiet\n--external-launcher: SLURM_MEM_BIND=quiet,none\n--external-launcher: SLURM_MEM_BIND_LIST=\n--external-launcher: SLURM_MEM_BIND_TYPE=none\n--external-launcher: SLURM_MEM_BIND_VERBOSE=quiet\n--hint=nomultithread: SLURM_CPU_BIND=quiet,threads\n--hint=nomultithread: SLURM_CPU_BIND_LIST=\n--hint=nomultithread: SLURM_CPU_BIND_TYPE=threads\n--hint=nomultithread: SLURM_CPU_BIND_VERBOSE=quiet\n--hint=nomultithread: SLURM_THREADS_PER_CORE=1\n--ntasks-per-core=1: SLURM_CPU_BIND=quiet,cores\n--ntasks-per-core=1: SLURM_CPU_BIND_LIST=\n--ntasks-per-core=1: SLURM_CPU_BIND_TYPE=cores\n--ntasks-per-core=1: SLURM_CPU_BIND_VERBOSE=quiet\n--ntasks-per-core=1: SLURM_NTASKS_PER_CORE=1\n--ntasks-per-node=1: SLURM_NTASKS_PER_NODE=1\n--oom-kill-step=1: SLURM_OOM_KILL_STEP=1\n--threads-per-core=1: SLURM_CPU_BIND=quiet,threads\n--threads-per-core=1: SLURM_CPU_BIND_LIST=\n--threads-per-core=1: SLURM_CPU_BIND_TYPE=threads\n--threads-per-core=1: SLURM_CPU_BIND_VERBOSE=quiet\n--threads-per-core=1: SLURM_THREADS_PER_CORE=1\n-J foo: SLURM_JOB_NAME=foo\n-O: SLURM_OVERCOMMIT=1\n-c1: SLURM_CPUS_ON_NODE=1\n-c1: SLURM_CPUS_PER_TASK=1\n-c1: SLURM_TRES_PER_TASK=cpu=1\n-m block: SLURM_DISTRIBUTION=block\n-m cyclic:cyclic: SLURM_DISTRIBUTION=cyclic:cyclic\n-m plane=2: SLURM_DISTRIBUTION=plane\n-m plane=2: SLURM_DIST_PLANESIZE=2", "", 0, "recorded in a job of its own: 24.11.5 leaves a step behind in the middle of the others"},
	{"another job", `srun -N1 -n1 --jobid=99999 true`, "", "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n" +
		"srun: error: Unable to confirm allocation for job 99999: Invalid job id specified", 1, ""},
	{"pmix", `srun -n4 --mpi=pmix bash -c 'echo $PMIX_RANK $SLURM_MPI_TYPE $PMIX_HOSTNAME'; srun -N1 -n1 -w $SLURMD_NODENAME --mpi=pmix_v5 bash -c 'echo $PMIX_RANK $SLURM_MPI_TYPE'`,
		"0 pmix n1\n0 pmix_v5\n1 pmix n1\n2 pmix n1\n3 pmix n2", "", 0, ""},
	{"mpi list", `srun --mpi=list`, "\tnone\n\tpmi2\n\tpmix\nMPI plugin types are...\nspecific pmix plugin versions available: pmix_v3,pmix_v4,pmix_v5", "", 0, "there are others in Debian's packages"},
	{"pmi-1", `srun -n4 --mpi=pmi2 bash -c 'ask() { echo "cmd=$*" >&$PMI_FD; read -r -u $PMI_FD a; }; ask init pmi_version=1 pmi_subversion=1
		ask put kvsname=$PMI_JOBID key=k$PMI_RANK value=$SLURMD_NODENAME; ask get kvsname=$PMI_JOBID key=k0; echo $PMI_RANK $PMI_SIZE $SLURM_MPI_TYPE $a
		ask barrier_in; ask get kvsname=$PMI_JOBID key=k$((3-PMI_RANK)); echo $PMI_RANK $a; ask get kvsname=$PMI_JOBID key=PMI_process_mapping; echo $PMI_RANK $a; ask finalize'`,
		"0 4 pmi2 cmd=get_result rc=1\n0 cmd=get_result rc=0 value=(vector,(0,1,3),(1,1,1))\n0 cmd=get_result rc=0 value=n2\n" +
			"1 4 pmi2 cmd=get_result rc=1\n1 cmd=get_result rc=0 value=(vector,(0,1,3),(1,1,1))\n1 cmd=get_result rc=0 value=n1\n" +
			"2 4 pmi2 cmd=get_result rc=1\n2 cmd=get_result rc=0 value=(vector,(0,1,3),(1,1,1))\n2 cmd=get_result rc=0 value=n1\n" +
			"3 4 pmi2 cmd=get_result rc=1\n3 cmd=get_result rc=0 value=(vector,(0,1,3),(1,1,1))\n3 cmd=get_result rc=0 value=n1", "", 0, ""},
	{"pmi abort", `srun -n4 --mpi=pmi2 bash -c 'echo "cmd=init pmi_version=1 pmi_subversion=1" >&$PMI_FD; read -r -u $PMI_FD a; touch up$PMI_RANK
		[ $PMI_RANK = 3 ] && until [ -e up0 -a -e up1 -a -e up2 ]; do sleep 0.01; done && sleep 2 && echo "cmd=abort exitcode=3" >&$PMI_FD; exec sleep 60'`, "",
		"slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
			"srun: error: n1: tasks 0-2: Killed\nsrun: error: n2: task 3: Killed", 137, ""},
	{"pmi by environment", `SLURM_MPI_TYPE=pmi2 srun -N1 -n1 -w $SLURMD_NODENAME bash -c 'echo $PMI_SIZE $SLURM_MPI_TYPE'; srun -N1 -n1 -w $SLURMD_NODENAME --mpi=none bash -c 'echo $PMI_SIZE $SLURM_MPI_TYPE.'`, ".\n1 pmi2", "", 0, ""},
	{"a rank that dies before the fence", `srun -K -n4 --mpi=pmi2 bash -c 'echo "cmd=init pmi_version=1 pmi_subversion=1" >&$PMI_FD; read -r -u $PMI_FD a; [ $PMI_RANK = 1 ] && exit 5
		echo "cmd=barrier_in" >&$PMI_FD; read -r -u $PMI_FD a; echo $a'`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: Force Terminated StepId X\n" +
		"srun: Terminating StepId X\nsrun: error: n1: task 1: Exited with exit code 5\nsrun: error: n1: tasks 0,2: Terminated\nsrun: error: n2: task 3: Terminated", 143, ""},
	{"no such mpi", `srun --mpi=nosuch true`, "", "srun: error: Couldn't find the specified plugin name for mpi/nosuch looking at all files\nsrun: error: Invalid MPI type 'nosuch', --mpi=list for acceptable types\n" +
		"srun: error: MPI: Cannot create context for mpi/nosuch\nsrun: error: MPI: Unable to load any plugin\nsrun: error: cannot find mpi plugin for mpi/nosuch", 1, ""},
	{"mpi none", `srun --mpi=none -N1 -n1 echo x`, "x", "", 0, ""},
	{"container", `srun --container=/x hostname`, "", "srun: error: --container is not carried out on rented nodes: start the container with the command itself", 1, "Slurm without an oci.conf starts the command outside of any container"},
	{"no terminal", `srun --pty -N1 -n1 bash -c 'tty; echo hi' </dev/null`, "hi\nnot a tty", "srun: error: Not using a pseudo-terminal, disregarding --pty option\n" +
		"srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device", 0, ""},
	{"umask and limits", `umask 027; ulimit -n 1234; srun -N1 -n1 bash -c 'umask; ulimit -n'`, "0027\n1234", "", 0, ""},
	{"own files only", `srun -N1 -n1 bash -c 'ls /proc/self/fd | wc -l'`, "4", "", 0, ""},
	{"what is left behind", `srun -n2 bash -c "setsid sleep 54321.$$ & disown; echo left"; pgrep -f "sleep 54321[.]$$"`, "left\nleft", "", 1, "proctrack/linuxproc does not find it"},
	{"het group", `srun --het-group=1 true`, "", "srun: error: Requested het-group offset exceeds highest hetjob index (1 > 0)", 1, ""},
	{"components", `srun -l --exact -N1 -n1 bash -c 'echo $SLURM_PROCID $SLURM_NTASKS' : --exact -N1 -n2 bash -c 'echo $SLURM_PROCID $SLURM_NTASKS' : -N1 -w n2 -n1 true`, "0: 0 4\n1: 1 4\n2: 2 4", "", 0, "slurmctld gives each component a node of its own"},
	{"components too large", `srun -N1 -n2 true : -N1 -n2 true`, "", "srun: error: Unable to create step for job 4711: More processors requested than permitted", 1, "slurmctld lets it wait for ever"},
	{"name", `srun -N1 -n1 -J myname bash -c 'echo $SLURM_JOB_NAME'`, "myname", "", 0, ""},
	{"unbuffered", `srun -N1 -n1 -u bash -c 'printf abc; sleep 0.1; echo def'`, "abcdef", "", 0, ""},
	{"signal to tasks", `srun -n2 bash -c 'trap "echo got usr1; exit 7" USR1; touch up$SLURM_PROCID; sleep 60 & wait' & p=$!; ` + bothUp + `; kill -USR1 $p; wait $p`, "got usr1\ngot usr1",
		"srun: error: n1: task 0: Exited with exit code 7\nsrun: error: n2: task 1: Exited with exit code 7", 7, ""},
	{"term", `srun -n2 bash -c 'touch up$SLURM_PROCID; exec sleep 60' & p=$!; ` + bothUp + `; kill -TERM $p; wait $p`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
		"srun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed\nsrun: forcing job termination", 137, ""},
	{"quit", `srun -n2 bash -c 'touch up$SLURM_PROCID; exec sleep 60' & p=$!; ` + bothUp + `; kill -QUIT $p; wait $p`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\n" +
		"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: Quit\nsrun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed\nsrun: forcing job termination", 137, ""},
	{"ctrl-c twice", `: >said; srun -n2 bash -c 'touch up$SLURM_PROCID; exec sleep 60' 2>said & p=$!; ` + bothUp + `
		for ((n = 1; ; n++)); do kill -INT $p; until grep -q forcing said || [ $(grep -c running said) = $n ]; do sleep 0.01; done; grep -q forcing said && break; done
		wait $p; c=$?; sort -u said >&2; exit $c`, "", "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
		"srun: StepId X tasks 0-1: running\nsrun: forcing job termination\nsrun: interrupt (one more within 1 sec to abort)\nsrun: sending Ctrl-C to StepId X", 130, ""},
	{"sbcast", `echo hi >src; chmod 640 src; sbcast -f -p src dst; stat -c '%a %s' dst; cmp src dst; sbcast src dst`, "640 3",
		"sbcast: error: REQUEST_FILE_BCAST(n1): File exists\nsbcast: error: REQUEST_FILE_BCAST(n2): File exists", 17, ""},
	{"sbcast of nothing", `sbcast nosuch /tmp/x`, "", "sbcast: error: Can't open `nosuch`: No such file or directory", 255, ""},
	{"test only", `srun --test-only -n1 hostname; srun -N1 -n1 bash -c 'echo $SLURM_STEP_ID'`, "0", "srun: Job 4711 to start at X using 3 processors on nodes n1 in partition \n" + cannot, 0, "slurmctld makes a job of it"},
}

// bothUp waits for two tasks to have begun, and for real srun to know it.
const bothUp = `until [ -e up0 -a -e up1 ]; do sleep 0.01; done; sleep 2`

func TestWords(t *testing.T) {
	for _, c := range words {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGang(t, 3, 1)
			out, errs, code := g.shell(t, c.script)
			if sorted(out) != c.out || settle(errs) != c.errs || code != c.code {
				t.Errorf("%s\n got %d, %q, %q\nwant %d, %q, %q", c.script, code, sorted(out), settle(errs), c.code, c.out, c.errs)
			}
		})
	}
}
