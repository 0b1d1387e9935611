package contract

// call is one way to submit the probe. Real sbatch and ours get it letter by letter.
type call struct {
	name  string
	args  []string          // before the script
	argv  []string          // after it
	shell string            // what the shell does first: umask, ulimit
	env   []string          // besides the usual
	files map[string]string // in the directory of the call, before it
	tasks int               // 0: one
	wrap  bool              // the probe is called by --wrap
	stdin bool              // the probe comes from standard input
	steps bool              // the script runs srun too
	not   map[string]string // sites that cannot have such a job, with the reason
}

// shapes are the ten jobs whose environments were recorded at a real site (env24.txt).
var shapes = []call{
	{name: "plain", steps: true},
	{name: "n1", args: []string{"-n1"}, steps: true},
	{name: "n4", args: []string{"-N2", "--ntasks-per-node=2", "-c2", "--mem=100", "-J", "nm"}, steps: true},
	{name: "gpu", args: []string{"-N1", "--gres=gpu:2", "-n2", "--mem=100"}, steps: true}, // without -N 26.05 takes one node or two, from run to run
	{name: "gpus", args: []string{"--gpus=1", "--mem-per-gpu=50"}, steps: true},
	{name: "gpn", args: []string{"-N2", "--gpus-per-node=1", "--ntasks-per-node=1", "-c2", "--mem-per-cpu=50"}, steps: true},
	{name: "gpt", args: []string{"-n2", "--gpus-per-task=1", "--mem=50"}, steps: true},
	{name: "arr", args: []string{"--array=3-7:2", "--mem=50"}, tasks: 3, steps: true},
	{name: "excl", args: []string{"--exclusive", "-n1", "--threads-per-core=1", "--mem=50"}, steps: true},
	{name: "het", args: []string{"-n1", "--mem=50", ":", "-n2", "--mem=60"}, steps: true},
}

// calls vary everything else that a script can see.
var calls = []call{
	{name: "argv", argv: []string{"", "a b", "x\ny\t", "\xff\xfe", "*", "é", `'q' "r" \`, "-n4", "--", "$HOME"}},
	{name: "wrap", wrap: true},
	{name: "stdin", stdin: true, argv: []string{"one", "two"}},
	{name: "umask 077", shell: "umask 077"},
	{name: "umask 000", shell: "umask 000"},
	{name: "umask 0027 and variable", shell: "umask 027", env: []string{"SLURM_UMASK=0007"}},
	{name: "limits", shell: "ulimit -S -n 512; ulimit -S -s 4096; ulimit -S -c 0; ulimit -S -u 5000"},
	{name: "propagate none", args: []string{"--propagate=NONE"}, shell: "ulimit -S -n 512; ulimit -S -s 4096"},
	{name: "propagate all", args: []string{"--propagate"}, shell: "ulimit -S -n 512; ulimit -S -c 0"},
	{name: "propagate unknown", args: []string{"--propagate=STACK,nofile"}},
	{name: "propagate some", args: []string{"--propagate=STACK,NOFILE"}, shell: "ulimit -S -n 500; ulimit -S -s 4096; ulimit -S -c 0"},
	{name: "hard limits", shell: "ulimit -n 600; ulimit -s 4096; ulimit -c 0"},
	{name: "nice", shell: "renice -n 19 $$ >/dev/null"},
	{name: "input", args: []string{"-i", "in-%x.txt", "-J", "deck"}, files: map[string]string{"in-deck.txt": "cards\n"}},
	{name: "input absolute", args: []string{"--input=/etc/hostname"}},
	{name: "patterns", args: []string{"-o", "o-%x-%j-%u-%10j-%n-%t-%s-%%-%J.txt", "-e", "e-%A-%a-%b.txt", "-J", "na me"}},
	{name: "pattern of a node", args: []string{"-o", "o-%N"}},
	{name: "pattern with backslash", args: []string{"-o", `\o-%j-%x`}},
	{name: "patterns of tasks", args: []string{"-a", "1-2", "-o", "%A_%a.%3a.%12A.%b", "-e", "%x-%4a.err"}, tasks: 2},
	{name: "array by default", args: []string{"--array=0,2%1"}, tasks: 2},
	{name: "one file", args: []string{"-o", "both", "-e", "both"}},
	{name: "error only", args: []string{"-e", "err"}},
	{name: "nothing", args: []string{"-o", "none", "-e", "/dev/null"}},
	{name: "append", args: []string{"--open-mode=append", "-o", "log"}, files: map[string]string{"log": "before\n"}},
	{name: "truncate", args: []string{"--open-mode=truncate", "-o", "log"}, files: map[string]string{"log": "before\n"}},
	{name: "overwrite", args: []string{"-o", "log"}, files: map[string]string{"log": "before\n"}},
	{name: "chdir", args: []string{"-D", "sub", "-o", "x-%j", "-e", "../y"}, files: map[string]string{"sub/.keep": ""}},
	{name: "chdir to a link", args: []string{"--chdir=link"}, shell: "ln -s sub link", files: map[string]string{"sub/.keep": ""}},
	{name: "chdir to /tmp", args: []string{"-D", "/tmp", "-o", "%D/out"}},
	{name: "chdir nowhere", args: []string{"-D", "/nonexistent", "-o", "%D/out"}},
	{name: "odd variables", env: []string{"BASH_FUNC_f%%=() {  echo f\n}", "LINES2=a\nb", "EMPTY=", "BYTES=\xff\xfe", "EQ=a=b=c", "lower.dot=1", "LC_ALL=C.UTF-8", "TZ=Asia/Tokyo"}},
	{name: "a job's variables", env: []string{"SLURM_NTASKS=9", "SLURM_JOB_ID=77", "SLURM_PROCID=5", "SLURM_CPUS_PER_TASK=3", "SLURM_MEM_PER_CPU=5", "SLURM_ARRAY_TASK_COUNT=8",
		"SLURM_TRES_PER_TASK=cpu=3", "SLURM_JOB_NAME=outer", "SLURM_SUBMIT_DIR=/x", "SLURM_EXPORT_ENV=ALL", "SLURM_OVERCOMMIT=1", "CUDA_VISIBLE_DEVICES=7", "SLURM_RESTART_COUNT=2", "TMPDIR=/var/tmp",
		"OMPI_MCA_plm_slurm_args=mine", "HYDRA_BOOTSTRAP=ssh", "ENVIRONMENT=HERE", "HOSTNAME=h"}},
	{name: "step manager's variable", env: []string{"SLURM_STEPMGR=x"}, not: map[string]string{"gamma": "26.05 drops it, 24.11 does not"}},
	{name: "options by variables", env: []string{"SBATCH_JOB_NAME=v", "SBATCH_TIMELIMIT=7", "SBATCH_OUTPUT=v-%j", "SBATCH_EXPORT=ALL,B=2", "SBATCH_OPEN_MODE=append", "SBATCH_MEM_PER_CPU=200"}},
	{name: "export none", args: []string{"--export=NONE"}, env: []string{"A=1", "SLURM_MINE=2"}},
	{name: "export nil", args: []string{"--export=NIL"}, env: []string{"A=1"}, not: map[string]string{"delta": "22.05 takes NIL for the name of a variable"}},
	{name: "export all and more", args: []string{"--export=ALL,A=2,B='x,y',C="}, env: []string{"A=1"}},
	{name: "export some", args: []string{"--export=A,B=3,NOSUCH"}, env: []string{"A=1"}},
	{name: "export file", args: []string{"--export-file=vars", "--hint=nomultithread", "--open-mode=append", "-d", "singleton"},
		files: map[string]string{"vars": "A=1\x00B=two words\x00"}, not: map[string]string{"gamma": "26.05 loses what the file holds unless --export is given too"}},
	{name: "export file and list", args: []string{"--export-file=vars", "--export=Q,C=4"}, env: []string{"Q=1"}, files: map[string]string{"vars": "A=1\x00SLURM_X=2\x00"}},
	{name: "export file and none", args: []string{"--export-file=vars", "--export=NONE"}, files: map[string]string{"vars": "A=1\x00SLURM_X=2\x00"}},
	{name: "user env", args: []string{"--get-user-env"}},
	{name: "dependency of names", args: []string{"-d", "singleton", "-J", "alone-%J"}},
	{name: "comment and more", args: []string{"--comment=a b", "--wckey=w", "--nice=5", "--requeue", "--no-kill", "--signal=B:USR1@60", "-t", "5", "--time-min=2", "--mail-type=END"}},
	{name: "layout", args: []string{"-N2", "--ntasks-per-node=2", "-m", "cyclic:block", "--hint=nomultithread", "--mem-bind=local"}, steps: true},
	{name: "gpu options", args: []string{"--gpus=2", "--cpus-per-gpu=2", "--gpu-bind=closest", "--gpu-freq=medium", "--mem=200"}, steps: true},
	{name: "overcommit", args: []string{"-O", "-n6", "--cpu-freq=performance", "--profile=task", "--acctg-freq=task=30"}},
	{name: "three nodes", args: []string{"-N3", "--exclusive"}},
	{name: "shapes by tres", args: []string{"--tres-per-task=cpu=2,gres/gpu=1", "-n2"}, not: map[string]string{"delta": "22.05 knows no such option"}},
}
