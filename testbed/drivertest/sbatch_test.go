package drivertest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/testbed/bed"
	"fsub/testbed/drivertest"
)

// shapes are command lines whose jobs must be the same, handed over by sbatch or by us.
var shapes = []string{
	"",
	"-N2",
	"-n4",
	"-n4 -c2",
	"-c4",
	"-N2 --ntasks-per-node=3",
	"-n6 --ntasks-per-node=3",
	"-N2 -n5",
	"-N1-3 -n3",
	"-N2 -c2 --ntasks-per-node=2",
	"--gres=gpu:1",
	"--gres=gpu:%T:2 -N2",
	"--gpus=2",
	"--gpus=%T:4 -N2",
	"--gpus-per-node=2 -N2",
	"-n2 --gpus-per-task=1",
	"-n2 --gpus-per-task=%T:1",
	"--gpus=2 --mem-per-gpu=1G",
	"--mem=2G",
	"--mem=0",
	"--mem-per-cpu=500 -n2",
	"--exclusive",
	"--exclusive=user",
	"-t 1-02:03",
	"-t 30 --time-min=10",
	"--begin=now+1hour",
	"--deadline=now+2hours -t 10",
	"-w %N1",
	"-w %N[1-2] -x %N4",
	"-x %N[3-4] -n2",
	"-C ib",
	"--switches=1@10:00 -N2",
	"--signal=B:USR1@120",
	"--signal=TERM",
	"--mail-type=BEGIN,END,FAIL --mail-user=x@example.org",
	"--mail-type=ALL",
	"--mail-type=TIME_LIMIT_90,INVALID_DEPEND,ARRAY_TASKS",
	"--nice=100",
	"--no-requeue",
	"--requeue",
	"--open-mode=append -o out-%j -e err-%j -i /etc/hosts",
	"-o sub/x-%x.log --comment=hello",
	"-a 0-5:2%2",
	"-D /tmp -J name",
	"-p short -t 5",
}

// TestSameAsSbatch submits each shape with the site's own sbatch and with the driver, both held, and compares what the
// controller then says of the two jobs.
func TestSameAsSbatch(t *testing.T) {
	b, names := realBed(t)
	for _, site := range names {
		t.Run(site, func(t *testing.T) {
			h := realHarness(t, b, site)
			for _, shape := range shapes {
				t.Run(shape, func(t *testing.T) {
					line := strings.NewReplacer("%T", h.GPUType, "%N", site).Replace(shape)
					want := scontrol(t, b, site, bySbatch(t, b, site, "-H "+line, "sleep 1"))
					got := scontrol(t, b, site, byDriver(t, h, "-H "+line, "sleep 1"))
					compare(t, site, want, got)
				})
			}
		})
	}
}

// TestSameEnvironment runs a few shapes both ways and compares the SLURM_ variables that the script finds.
func TestSameEnvironment(t *testing.T) {
	b, names := realBed(t)
	for _, site := range names {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			h := realHarness(t, b, site)
			for i, shape := range []string{"", "-n4 -c2", "-N2 --ntasks-per-node=3", "-N2", "--gpus-per-node=2 -N2", "-n2 --gpus-per-task=1", "--mem=2G", "--exclusive", "-N2 -n5 --mem-per-cpu=500",
				"--gpus=2 --mem-per-gpu=1G", "-n4 --hint=nomultithread", "-B 4:*:1", "-O -n8", "-m plane=2 -n4", "--gpus=2 --gpu-bind=closest --cpus-per-gpu=2",
				"-s -k --wait-all-nodes=1", "--tres-per-task=cpu=2 -n2 --profile=task", "--ntasks-per-gpu=2 --gpus=2", "--ntasks-per-gpu=2 --gpus-per-node=1 -N2", "-N 1,3 -n4 --ntasks-per-socket=1"} {
				t.Run(shape, func(t *testing.T) {
					// What else runs on the nodes decides how the tasks lie on them: a difference must show each time.
					var all []string
					for range 3 {
						var env [2]map[string]string
						for k := range env {
							out := fmt.Sprintf("%s/env-%s-%d-%d", h.Dir, site, i, k)
							_ = os.Remove(out)
							line := shape + " -o " + out
							script := "env -0 | sort -z | tr '\\n\\0' ' \\n'; echo " + wholeEnv
							if k == 0 {
								bySbatch(t, b, site, line, script)
							} else {
								byDriver(t, h, line, script)
							}
							env[k] = readEnv(t, out)
						}
						if all = differences(site, env[0], env[1]); len(all) == 0 {
							return
						}
					}
					t.Error(strings.Join(all, "\n"))
				})
			}
		})
	}
}

// bySbatch submits with the site's own sbatch.
func bySbatch(t *testing.T, b *bed.Bed, site, line, script string) string {
	t.Helper()
	args := append([]string{"sbatch", "--parsable"}, strings.Fields(line)...)
	out, err := b.Output(context.Background(), site, "alice", append(args, "--wrap", script)...)
	if err != nil && unknownTo(site, err.Error()+out) {
		t.Skipf("SKIPPED: sbatch of the site knows nothing of it: %v", err)
	}
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, out)
	}
	id := strings.TrimSpace(out)
	cancelAtEnd(t, b, site, id)
	return id
}

// byDriver submits what our own sbatch makes of the same line.
func byDriver(t *testing.T, h drivertest.Harness, line, script string) string {
	t.Helper()
	id, err := tryDriver(t, h, line, script)
	if notViable(err) {
		t.Skipf("SKIPPED: not viable: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// notViable reports whether a refusal is that the site's API version has no word for an option.
func notViable(err error) bool {
	return errors.Is(err, federation.ErrInvalid) && strings.Contains(err.Error(), "cannot carry --")
}

// unknownTo reports whether sbatch of 22.05 says that it knows an option or its form not. What such an option stands for may be sent all the same.
func unknownTo(site, refused string) bool {
	return site == "delta" && (strings.Contains(refused, "unrecognized option") || strings.Contains(refused, "is not a valid node count"))
}

// tryDriver is byDriver for a line that may be refused.
func tryDriver(t *testing.T, h drivertest.Harness, line, script string) (string, error) {
	t.Helper()
	return tryArgs(t, h, append(strings.Fields(line), "--wrap", script))
}

// tryArgs submits what our own sbatch makes of its arguments.
func tryArgs(t *testing.T, h drivertest.Harness, args []string) (string, error) {
	t.Helper()
	id := h.NextID()
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // 20 to 1: the tests may run with a nice value
	if err != nil {
		t.Fatal(err)
	}
	req, err := sbatch.Parse(sbatch.Input{
		Args: args, Files: files{},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + h.Dir, "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash",
			"TERM=" + cmp.Or(os.Getenv("TERM"), "dumb"), "LANG=C.UTF-8"}, // as the bed gives them to the site's sbatch
		Dir: h.Dir, Now: time.Now(), Nice: 20 - priority,
	})
	if err != nil {
		return "", fmt.Errorf("parse: %w", err)
	}
	j := &federation.Job{ID: id, Spec: &req.Spec}
	if req.Spec.Hold {
		j.Held = federation.HeldUser
	}
	partition := req.Spec.Partition
	if partition == "" {
		partition = "main"
	}
	key := federation.AttemptKey(h.Federation, j, 1)
	r, err := h.Driver.Submit(context.Background(), federation.Submission{Job: j, Payload: req.Payload, Partition: partition, User: h.User, Key: key, First: true})
	if err != nil {
		return "", err
	}
	ref := federation.JobRef{ID: id, Key: key, SiteJobID: r.SiteJobID}
	t.Cleanup(func() { _ = h.Driver.Cancel(context.Background(), ref, nil) })
	for _, w := range r.Warnings {
		t.Errorf("warning: %s", w)
	}
	number := strconv.FormatUint(uint64(r.SiteJobID), 10)
	federated.Store(number, id.String())
	return number, nil
}

// federated has the federated IDs of jobs, by their numbers at mapped sites.
var federated sync.Map

// withoutID puts "ID" for a job's number and for its federated ID.
func withoutID(text, id string) string {
	if fed, ok := federated.Load(id); ok && fed != id {
		text = strings.ReplaceAll(text, fed.(string), "ID")
	}
	number := regexp.MustCompile(`(^|[^0-9])` + id + `([^0-9M]|$)`)
	return strings.ReplaceAll(number.ReplaceAllString(text, "${1}ID${2}"), "%j", "ID")
}

func cancelAtEnd(t *testing.T, b *bed.Bed, site, id string) {
	t.Cleanup(func() { _, _ = b.Output(context.Background(), site, "", "scancel", id) })
}

// scontrol returns what "scontrol show job -d" says.
func scontrol(t *testing.T, b *bed.Bed, site, id string) map[string]string {
	t.Helper()
	out, err := "", error(nil)
	for range 3 { // 22.05's slurmctld now and then closes a connection under its own scontrol
		out, err = b.Output(context.Background(), site, "", "scontrol", "--oneliner", "--details", "show", "job", id)
		if err == nil || !strings.Contains(err.Error()+out, "Broken pipe") {
			break
		}
	}
	if err != nil {
		t.Fatalf("scontrol: %v: %s", err, out)
	}
	fields := map[string]string{}
	for _, w := range regexp.MustCompile(`(?:^| )([A-Z][A-Za-z/:]*)=`).FindAllStringSubmatchIndex(out, -1) {
		rest := out[w[1]:]
		if next := regexp.MustCompile(` [A-Z][A-Za-z/:]*=`).FindStringIndex(rest); next != nil {
			rest = rest[:next[0]]
		}
		name := out[w[2]:w[3]]
		if strings.HasPrefix(name, "Std") { // whatever stands beside the number in a file name
			rest = strings.ReplaceAll(rest, id, "ID")
		}
		fields[name] = withoutID(strings.TrimSpace(rest), id)
	}
	return fields
}

// wholeEnv is what a job writes behind its variables.
const wholeEnv = "that is all"

// readEnv reads the variables that a job has written.
func readEnv(t *testing.T, file string) map[string]string {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		text, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(string(text), "\n"+wholeEnv+"\n") {
			vars := map[string]string{}
			for _, l := range strings.Split(string(text), "\n") {
				if k, v, ok := strings.Cut(l, "="); ok {
					vars[k] = v
				}
			}
			return vars
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("the job did not write %s", file)
	return nil
}

// differs are fields that two submissions of the same job cannot have in common, or that say who submitted it, with the reason.
var differs = map[string]string{
	"JobId": "", "ArrayJobId": "", "SubmitTime": "seconds apart", "AccrueTime": "seconds apart", "EligibleTime": "seconds apart", "StartTime": "seconds apart", "EndTime": "seconds apart",
	"Deadline": "seconds apart", "LastSchedEval": "", "RunTime": "", "SLUID": "", "AdminComment": "the attempt's key", "AllocNode:Sid": "the host that slurmrestd runs on",
	"FSUB_JOB_ID": "for commands within a job of a mapped site", "FSUB_ARRAY_JOB_ID": "the same",
	"MailType": "the federation sends mail itself", "MailUser": "likewise",
	"SubmitLine": "no API version can set it", "Priority": "ages",
	"SLURM_JOB_ID": "", "SLURM_JOB_SLUID": "", "SLURM_JOBID": "", "SLURM_JOB_START_TIME": "", "SLURM_JOB_END_TIME": "", "SLURM_TASK_PID": "", "SLURM_SUBMIT_HOST": "", "SLURM_NODEID": "",
	"SLURM_JOB_GPUS": "as they fall free", "CUDA_VISIBLE_DEVICES": "as they fall free", "GPU_DEVICE_ORDINAL": "as they fall free", "ROCR_VISIBLE_DEVICES": "as they fall free", "ZE_AFFINITY_MASK": "as they fall free",
	"SLURM_JOB_NODELIST": "as they fall free", "SLURM_NODELIST": "as they fall free", "SLURMD_NODENAME": "as they fall free", "SLURM_TOPOLOGY_ADDR": "as they fall free", "HOSTNAME": "",
}

// differsOnDelta are further ones where v0.0.38 is spoken.
var differsOnDelta = map[string]string{"SLURM_PROFILE": "slurmrestd of 22.05 overwrites it, with a number before the words"}

// reckoned are the CPUs of a job that waits and asked for nodes only: sbatch of 22.05 counts one for each node, v0.0.38 has no word for that
// which a job would not find in its environment. Once it runs they are the same.
var reckoned = map[string]bool{"NumCPUs": true, "TRES": true}

// nodesOnly reports whether a job has more nodes than CPUs reckoned for it.
func nodesOnly(want, got map[string]string) bool {
	return want["NumCPUs"] == "2" && got["NumCPUs"] == "1" && (want["NumNodes"] == "2" || want["NumNodes"] == "2-2")
}

func compare(t *testing.T, site string, want, got map[string]string) {
	t.Helper()
	for _, d := range differences(site, want, got) {
		t.Error(d)
	}
}

// differences lists where two jobs differ and should not.
func differences(site string, want, got map[string]string) (all []string) {
	keys := slices.Collect(maps.Keys(want))
	for k := range got {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		_, free := differs[k]
		if _, too := differsOnDelta[k]; site == "delta" && (too || reckoned[k] && nodesOnly(want, got)) {
			free = true
		}
		if !free && want[k] != got[k] {
			all = append(all, fmt.Sprintf("%s: sbatch %q, driver %q", k, want[k], got[k]))
		}
	}
	return all
}
