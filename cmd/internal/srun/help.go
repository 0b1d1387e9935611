package srun

import "fsub/cmd/internal/show"

var versionText = show.Version + "\n"

const usageText = "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]] [ : [OPTIONS(N)...]] executable(N) [args(N)...]\n"

const helpText = usageText + `
What a step of a job on rented nodes understands; other options of Slurm's srun speak of the job and change nothing here.

  -n, --ntasks=N               tasks                     -N, --nodes=N[-M]      nodes
  -c, --cpus-per-task=N        CPUs of each task             --ntasks-per-node=N
  -w, --nodelist=NAMES         on these nodes            -x, --exclude=NAMES    on none of these
  -r, --relative=N             from the N-th node on     -m, --distribution=block|cyclic|plane=N|arbitrary
      --exact, --exclusive     take the CPUs of the tasks only
      --overlap                share CPUs with other steps
  -O, --overcommit             more tasks than CPUs      -I, --immediate        do not wait for CPUs
      --mem=MIB  --mem-per-cpu=MIB                       -G, --gpus=N  --gpus-per-node=N  --gpus-per-task=N  --gres=gpu:N|none
      --cpu-bind=none|rank|cores|threads|map_cpu:LIST|mask_cpu:LIST
      --gpu-bind=none|single:N|per_task:N|map_gpu:LIST|mask_gpu:LIST
  -o, --output=  -e, --error=  -i, --input=              a file name pattern, none, or the number of a task
      --open-mode=append|truncate                        -l, --label   -u, --unbuffered
  -K, --kill-on-bad-exit[=0|1]                           -W, --wait=SECONDS after the first task's end
  -t, --time=LIMIT             of the step               -D, --chdir=DIR
  -J, --job-name=NAME          of the step                   --export=ALL|NONE|NAMES
      --pty                    a terminal for the first task
      --multi-prog             the command is a file of programs
      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|FILE.sqsh   run the tasks in a container, with pyxis' other options:
      --container-mounts=SRC:DST[:FLAGS],...  -workdir=  -name=NAME[:FLAG]  -save=FILE  -env=NAMES  -unshare=NS
      --[no-]container-mount-home  -remap-root  -entrypoint   --container-writable  --container-readonly
      --het-group=N            components of the job         --jobid=ID
      --mpi=none|pmi2|pmix     how MPI programs find each other; --mpi=list
  -X, --disable-status  --quit-on-interrupt  -k, --no-kill  -Q, --quiet  -v, --verbose  --test-only
  -V, --version  -h, --help  --usage
`

const cpuBindHelp = `CPU bind options:
    --cpu-bind=         Bind tasks to CPUs
        q[uiet]         quietly bind before task runs (default)
        v[erbose]       verbosely report binding before task runs
        no[ne]          don't bind tasks to CPUs (default)
        rank            bind by task rank
        cores, threads  bind each task to CPUs of its own
        map_cpu:<list>  specify a CPU ID binding for each task
        mask_cpu:<list> specify a CPU ID binding mask for each task
`
