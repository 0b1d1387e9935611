package drivertest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// options are command lines with the less usual options: their jobs must be the same too, handed over by sbatch or by us, or
// be refused by both.
var options = []string{
	"--hint=compute_bound",
	"--hint=memory_bound",
	"--hint=multithread",
	"-n4 -c2 --hint=nomultithread",
	"-N2 --ntasks-per-node=4 --hint=NoMultithread -c2",
	"--hint=nomultithread --threads-per-core=1",
	"--hint=nomultithread --ntasks-per-core=2",
	"--hint=nomultithread -B 1:2",
	"--hint=nomultithread --sockets-per-node=2",
	"--hint=multithread --sockets-per-node=2",
	"--hint=compute_bound --sockets-per-node=2",
	"--threads-per-core=1 -n4",
	"--threads-per-core=2",
	"--ntasks-per-core=1 -n2",
	"--ntasks-per-node=4 --ntasks-per-core=2",
	"--ntasks-per-socket=2 -n8 -N2",
	"--cores-per-socket=2",
	"--sockets-per-node=1",
	"-B 1",
	"-B 1:4:1",
	"-B 1:*:1 -N2",
	"-B 1:4:1 --ntasks-per-node=2 -N2",
	"-B *:*:1 -c2",
	"-s",
	"--exclusive=oversubscribe",
	"-O",
	"-O -c4 -n3",
	"-O -N2-3 -n8",
	"-O --ntasks-per-node=4 -N2",
	"-m block -n2",
	"-m block:cyclic:fcyclic -n4",
	"-m *:block",
	"-m plane=2 -n4",
	"-m cyclic,NoPack",
	"-m block:block,Pack",
	"-m arbitrary -w %N[1-2]",
	"-L matlab:1",
	"-L nosuch:1",
	"--contiguous -N2",
	"--mincpus=4 -c2",
	"--mincpus=4 -n8 --ntasks-per-node=4 -c2",
	"--tmp=1G",
	"--core-spec=1",
	"--thread-spec=1",
	"--wait-all-nodes=1 -N2",
	"--wait-all-nodes=0",
	"-k -N2",
	"--no-kill=off",
	"--kill-on-invalid-dep=yes",
	"--kill-on-invalid-dep=no",
	"--wckey=abc",
	"--profile=task",
	"--profile=all",
	"--profile=none",
	"--acctg-freq=task=30",
	"--gpu-bind=closest --gpus=1",
	"--gpu-bind=map_gpu:0,1 --gpus=2",
	"--gpu-bind=verbose,single:1 --gpus-per-task=1 -n2",
	"--gpu-freq=medium,memory=high --gpus=1",
	"--cpus-per-gpu=2 --gpus=2",
	"--cpus-per-gpu=2 --gpus-per-task=1 -n2",
	"--cpus-per-gpu=2",
	"--ntasks-per-gpu=2 --gpus=2",
	"--ntasks-per-gpu=2 --gpus=2 -n8",
	"--ntasks-per-gpu=2 -n4",
	"--ntasks-per-gpu=2 --gpus-per-node=2 -N2",
	"--ntasks-per-gpu=2 --gpus=%T:2",
	"--ntasks-per-gpu=2 --gres=gpu:2",
	"--gpus-per-socket=1 --sockets-per-node=1",
	"--gres-flags=enforce-binding --gres=gpu:1",
	"--gres-flags=disable-binding --gres=gpu:1",
	"--network=Instances=1",
	"--priority=100",
	"--priority=0",
	"--prefer=ib",
	"--tres-per-task=cpu=2 -n2",
	"--tres-per-task=gres/gpu=1 -n2",
	"--tres-per-task=cpu=2,gres/gpu:%T=1 -n2",
	"--tres-bind=gres/gpu:none --gpus=2 --gpu-bind=closest",
	"--use-min-nodes -N1-2",
	"--spread-job -N2",
	"--segment=2 -N2",
	"--delay-boot=1:30",
	"--container=rel/x",
	"--container-id=abc",
	"--extra=a=b",
	"--mcs-label=abc",
	"--oom-kill-step",
	"--oom-kill-step=0",
	"--batch=ib -C ib",
	"--bb=abc",
	"--stepmgr",
	"-N 1,3 -n4",
	"-N 2,4",
	"-N 2,4 -c2",
	"-N 2,4 --ntasks-per-node=2",
	"-N 2,4 --hint=nomultithread --gpus-per-node=1",
	"-N 1-4:3 --ntasks-per-node=2",
	"--cpu-freq=low-high:performance",
	"--cpu-freq=2000000 -n2",
	"--cpu-freq=performance",
	"--mem-bind=verbose,local",
	"--mem-bind=map_mem:0,1 -n2",
	"--cluster-constraint=x",
	"--delay-boot=infinite",
	"-S 0",
	"-N2 --hint=nomultithread",
	"-N2 --threads-per-core=1 -c2",
	"-N2 --sockets-per-node=1",
	"-w %N[1-2] -B 1",
	"--threads-per-core=2 -B 1:2",
	"-m arbitrary -w %N1,%N1,%N2",
	"--gpus-per-task=0 -n1 -c2",
	"--gpus-per-task=%T:0 -n1",
	"-A physics",
	"-A nosuch",
	"--bbf=bbf",
	"--context=abc",
	"--export=NONE",
	"--export=NIL",
	"--export=HOME,B=1",
	"--export=ALL,B='x'",
	"--get-user-env",
	"--get-user-env=10L",
	"--ignore-pbs",
	"-F hosts-%N",
	"--ntasks-per-tres=2 --gpus=2",
	"--propagate=STACK,NOFILE",
	"--propagate=stack",
	"-v",
	"-q normal",
	"-q nosuch",
	"--reservation=nosuch",
	"--resv-ports",
	"--resv-ports=2",
	"--tasks-per-node=2 -N2",
	"--consolidate-segments",
	"--container-type=x",
	"--external",
	"--mem-update=1G",
	"--resources=x",
	"--spread-segments",
	"--uid=alice",
	"--gid=alice",
	"--power=level",
	"--runtime=x",
}

// otherwise are lines that sbatch of a site reads otherwise than that of 24.11, which is the one that we follow, with the difference.
var otherwise = map[string]map[string]string{"gamma": {
	"--hint=nomultithread --sockets-per-node=2": "26.05 ignores the hint, 24.11 the sockets",
	"--hint=multithread --sockets-per-node=2":   "the same",
	"--hint=compute_bound --sockets-per-node=2": "the same",
	"--consolidate-segments":                    "24.11 does not know it, and we refuse it",
	"--container-type=x":                        "the same",
	"--external":                                "the same",
	"--mem-update=1G":                           "the same",
	"--resources=x":                             "the same",
	"--spread-segments":                         "the same",
	"--get-user-env=10L":                        "26.05 takes no argument",
}, "delta": {
	"--export=NIL":  "22.05 takes NIL for the name of a variable",
	"--power=level": "24.11 does not know it any more",
}}

// writtenOut are fields whose value is the same hosts otherwise written, since slurmrestd takes names one by one.
var writtenOut = map[string][]string{"-m arbitrary -w %N[1-2]": {"ReqNodeList", "SLURM_ARBITRARY_NODELIST"},
	"-m arbitrary -w %N1,%N1,%N2": {"ReqNodeList", "SLURM_ARBITRARY_NODELIST"}}

// callers are variables that the two callers have otherwise, with the reason.
var callers = map[string]string{
	"PATH": "the shell's", "_": "the shell's", "SLURM_CONF": "the bed's", "SLURM_UMASK": "the test has none",
	"SLURM_JOB_NAME": "the controller sets it from 24.05.2 on; older slurmrestds do not",
}

// TestSameOptions compares what the controller says of the two jobs of each line, and the environment that it keeps for their
// scripts.
func TestSameOptions(t *testing.T) {
	b, names := realBed(t)
	for _, site := range names {
		t.Run(site, func(t *testing.T) {
			h := realHarness(t, b, site)
			for name, text := range map[string]string{"bbf": "#BB one\n", "hosts-" + site: site + "1\n" + site + "2\n"} {
				if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range options {
				t.Run(line, func(t *testing.T) {
					if why := otherwise[site][line]; why != "" {
						t.Skip("SKIPPED:", why)
					}
					full := "-H " + strings.NewReplacer("%T", h.GPUType, "%N", site).Replace(line)
					theirs, refused := trySbatch(t, b, site, full)
					ours, err := tryDriver(t, h, full, "sleep 1")
					switch {
					case notViable(err):
						t.Skipf("SKIPPED: not viable: %v", err)
					case unknownTo(site, refused):
						t.Skipf("SKIPPED: sbatch of the site knows nothing of it: %s", refused)
					case refused != "" && err != nil:
						return
					case refused != "":
						t.Fatalf("sbatch refuses: %s; the driver submits it", refused)
					case err != nil:
						t.Fatalf("the driver does not submit it: %v", err)
					}
					for _, look := range []func(*testing.T, *bed.Bed, string, string) map[string]string{scontrol, keptEnv} {
						want, got := look(t, b, site, theirs), look(t, b, site, ours)
						for _, field := range writtenOut[line] {
							delete(want, field)
							delete(got, field)
						}
						compare(t, site, want, got)
					}
				})
			}
		})
	}
}

// trySbatch submits with the site's own sbatch; refused is what that says against it.
func trySbatch(t *testing.T, b *bed.Bed, site, line string) (id, refused string) {
	t.Helper()
	args := append([]string{"sbatch", "--parsable"}, strings.Fields(line)...)
	out, err := b.Output(context.Background(), site, "alice", append(args, "--wrap", "sleep 1")...)
	if err != nil {
		return "", err.Error() + " " + out
	}
	lines := strings.Fields(out)
	id = lines[len(lines)-1]
	cancelAtEnd(t, b, site, id)
	return id, ""
}

// keptEnv is the environment of a job as the controller keeps it: what sbatch or we sent, before a node adds its part.
func keptEnv(t *testing.T, b *bed.Bed, site, id string) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(b.Dir(), "sites", site, "state", "hash.*", "job."+id, "environment"))
	if len(files) != 1 {
		t.Fatalf("no environment of job %s in the controller's state", id)
	}
	body, err := os.ReadFile(files[0])
	if err != nil || len(body) < 4 {
		t.Fatalf("environment of job %s: %v, %d bytes", id, err, len(body))
	}
	vars := map[string]string{}
	for _, v := range bytes.Split(body[4:], []byte{0}) { // the count of the variables comes first
		name, value, _ := strings.Cut(string(v), "=")
		if name != "" && callers[name] == "" && !strings.HasPrefix(name, "SLURM_RLIMIT_") {
			vars[name] = withoutID(value, id)
		}
	}
	return vars
}
