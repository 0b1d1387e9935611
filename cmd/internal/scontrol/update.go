package scontrol

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"fmt"
	"strings"
	"time"

	"fsub/sbatch"
)

// keys are what can be changed of a job: Slurm's word, the letters of it that must be there, and
// sbatch's option for the same.
var keys = []struct {
	name   string
	short  int
	option string
}{
	{"Account", 1, "account"},
	{"ArrayTaskThrottle", 10, "array-limit"},
	{"Comment", 3, "comment"},
	{"Contiguous", 3, "contiguous"},
	{"CoreSpec", 4, "core-spec"},
	{"CPUsPerTask", 9, "cpus-per-task"},
	{"Deadline", 3, "deadline"},
	{"DelayBoot", 5, "delay-boot"},
	{"Dependency", 1, "dependency"},
	{"EligibleTime", 2, "begin"},
	{"ExcNodeList", 3, "exclude"},
	{"Extra", 3, "extra"},
	{"Features", 1, "constraint"},
	{"Gres", 2, "gres"},
	{"JobName", 4, "job-name"},
	{"Licenses", 1, "licenses"},
	{"MailType", 5, "mail-type"},
	{"MailUser", 5, "mail-user"},
	{"MinCPUsNode", 4, "mincpus"},
	{"MinMemoryCPU", 10, "mem-per-cpu"},
	{"MinMemoryNode", 10, "mem"},
	{"MinTmpDiskNode", 4, "tmp"},
	{"Name", 2, "job-name"},
	{"Network", 2, "network"},
	{"Nice", 2, "nice"},
	{"NodeList", 8, "nodelist"},
	{"NumCPUs", 4, "ntasks"},
	{"NumNodes", 4, "nodes"},
	{"NumTasks", 8, "ntasks"},
	{"OverSubscribe", 2, "oversubscribe"},
	{"Partition", 2, "partition"},
	{"Prefer", 3, "prefer"},
	{"Priority", 2, "priority"},
	{"QOS", 1, "qos"},
	{"ReqNodeList", 8, "nodelist"},
	{"ReqNodes", 8, "nodes"},
	{"ReqProcs", 4, "ntasks"},
	{"Requeue", 4, "requeue"},
	{"ReservationName", 3, "reservation"},
	{"Shared", 2, "oversubscribe"},
	{"StartTime", 2, "begin"},
	{"StdErr", 4, "error"},
	{"StdIn", 4, "input"},
	{"StdOut", 4, "output"},
	{"Switches", 5, "switches"},
	{"TasksPerNode", 2, "ntasks-per-node"},
	{"ThreadSpec", 4, "thread-spec"},
	{"TimeLimit", 5, "time"},
	{"TimeMin", 5, "time-min"},
	{"WCKey", 1, "wckey"},
	{"WorkDir", 2, "chdir"},
}

// words of Slurm that are not the job's to change through the federation: the site's, or an administrator's.
var denied = []string{"AdminComment", "UserID", "SiteFactor", "ResetAccrueTime", "BurstBuffer", "ClusterFeatures", "Clusters", "EndTime", "Reboot", "ReqCores",
	"ReqSockets", "ReqThreads", "MCSLabel", "SystemComment"}

// update is "update JobId=LIST KEY=VALUE...", or JobName=NAME for the caller's jobs of that name.
func (c *command) update(words []string) int {
	words = joined(words)
	var refs []ref
	var changes []sbatch.Change
	named := ""
	for i, w := range words {
		key, value, has := strings.Cut(w, "=")
		switch {
		case i == 0 && has && is(key, "NodeName", 5):
			return c.updateNode(words)
		case i == 0 && has && entityOther(key):
			return c.fail("slurm_update error: %s", refusedText("Invalid user id", "update", c.root))
		case has && is(key, "JobId", 3) && !is(key, "JobName", 4):
			refs = append(refs, c.refs([]string{value})...)
		case i == 0 && has && (is(key, "JobName", 4) || is(key, "Name", 2)):
			named = value
		case i == 0:
			return c.fail("No valid entity in update command\nInput line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"")
		case !has:
			return c.fail("Invalid input: %s\nRequest aborted", w)
		default:
			change, err := ReadChange(w, c.times.Now())
			if err != nil {
				return c.fail("%s", err)
			}
			changes = append(changes, change)
		}
	}
	if named != "" {
		var err error
		if refs, err = c.jobsNamed(named); err != nil {
			return 1
		}
		if len(refs) == 0 {
			return c.fail("scontrol: error: No jobs with name '%s'", named)
		}
	}
	if len(changes) == 0 {
		return c.fail("No changes specified")
	}
	exit := 0
	results := c.results("update", refs, changes)
	for i := range results {
		r := &results[i]
		if r.Error == nil {
			continue
		}
		exit = 1
		if r.Error.Said != "" { // a value that cannot be read
			return c.fail("%s", r.Error.Said)
		}
		c.complain(refs[i], r, true)
	}
	return exit
}

// joined puts "job 17" into one word, "job=17".
func joined(words []string) []string {
	if len(words) > 1 && !strings.Contains(words[0], "=") && is(words[0], "jobid", 3) {
		return append([]string{words[0] + "=" + words[1]}, words[2:]...)
	}
	return words
}

// entityOther reports whether key names something else than a job.
func entityOther(key string) bool {
	for _, name := range []string{"PartitionName", "ReservationName", "SlurmctldDebug", "StepId", "SuspendExcNodes"} {
		if is(key, name, 5) {
			return true
		}
	}
	return false
}

// ReadChange reads a change of a job as scontrol update takes it: KEY=VALUE, KEY+=VALUE or KEY-=VALUE.
func ReadChange(word string, now time.Time) (sbatch.Change, error) {
	key, value, _ := strings.Cut(word, "=")
	relative := ""
	if strings.HasSuffix(key, "+") || strings.HasSuffix(key, "-") {
		key, relative = key[:len(key)-1], key[len(key)-1:]
	}
	option := optionOf(key)
	if option == "" {
		return sbatch.Change{}, fmt.Errorf("Update of this parameter is not supported: %s\nRequest aborted", word)
	}
	return sbatch.Change{Key: key, Option: option, Value: relative + value}.InUTC(now.Local())
}

// optionOf is sbatch's option for what key changes, "" if nothing can be changed by it.
func optionOf(key string) string {
	for _, d := range denied {
		if strings.EqualFold(key, d) {
			return "-" + d // known, and the daemon says who may
		}
	}
	for _, k := range keys {
		if is(key, k.name, k.short) {
			return k.option
		}
	}
	return ""
}
