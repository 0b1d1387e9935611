package main

import (
	"bytes"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"pgregory.net/rapid"

	"fsub/cmd/internal/crash"
	"fsub/federation/api"
	"fsub/testbed/apitest"
)

// crashed is the file of a story's directory that a command leaves which has panicked.
const crashed = "crashed"

// markCrashes makes main leave that file.
func markCrashes(main func()) func() {
	return func() {
		crash.Mark = func(sentence string) {
			os.WriteFile(filepath.Join(os.Getenv("WORK"), crashed), []byte(sentence), 0o644)
		}
		main()
	}
}

// failCrashed makes a story fail in which a command has panicked, whatever exit code the story expects.
func failCrashed(t *testing.T, env *testscript.Env) {
	env.Defer(func() {
		if sentence, err := os.ReadFile(filepath.Join(env.WorkDir, crashed)); err == nil {
			t.Errorf("%s", sentence)
		}
	})
}

// TestNoPanic calls each command with words that it knows, in orders that nobody would think of, outside of jobs and within them.
func TestNoPanic(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	d := apitest.Start(t, api.Config{Steps: steps{}})
	fill := fixture{t, d, me}
	fill.sites()
	fill.jobs()
	t.Chdir(t.TempDir())
	outside := []string{"FSUB_SOCKET=" + d.Socket, "PATH=", "HOME=/nonexistent"}
	within := func(env string) []string { return append(strings.Fields(env), outside...) }
	environments := [][]string{
		outside,
		within("SLURM_JOB_ID=30000000"),
		within("SLURM_JOB_ID=30000003 SLURM_ARRAY_JOB_ID=30000003 SLURM_ARRAY_TASK_ID=0"),
		within("SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=30000003 SLURM_ARRAY_TASK_ID=0"),
		within("SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=30000003 SLURM_ARRAY_TASK_ID=9"),
		within("SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=70 SLURM_ARRAY_TASK_ID=0 FSUB_JOB_ID=30000003 FSUB_ARRAY_JOB_ID=30000003"),
		within("SLURM_JOB_ID=77 FSUB_JOB_ID=30000004"),
	}
	jobs := strings.Fields("30000000 30000001 30000002 30000003 30000003_0 30000003_[1-3] 30000003_2,30000003_3 30000003_9 30000004 77 70 70_0 77.0 30000000.batch 17 0 _ _1 1_ 1+ 1_[ [ 30000003_[0-3 ] ,")
	values := strings.Fields("= , % %i %.18i%5 %10 -1 0 1 all ALL x train,wait PENDING R name=held now now-1day 2026-01-01 a1 a[1-2] a[ alpha beta jobid -o jobid,state%-5")
	words := map[string][]string{}
	option := regexp.MustCompile(`--[A-Za-z0-9-]+|\s-[A-Za-z]\b`)
	for _, name := range strings.Fields("squeue scancel sinfo sacct scontrol sacctmgr sshare") {
		var out bytes.Buffer
		run(name, []string{"--help"}, outside, &out, &out)
		for _, o := range option.FindAllString(out.String(), -1) {
			if o = strings.TrimSpace(o); o != "--iterate" && o != "-i" && o != "--help" {
				words[name] = append(words[name], o)
			}
		}
		words[name] = append(words[name], jobs...)
		words[name] = append(words[name], values...)
	}
	words["scontrol"] = append(words["scontrol"], strings.Fields("show job step node partition hold uhold release requeue requeuehold suspend resume top update write batch_script - "+
		"show config Incomplete State=SpecialExit JobId= jobid=30000003_1 jobid=30000003 comment=x nice=5 priority=0 timelimit+=5 ArrayTaskThrottle=2 hostlist hostnames")...)
	words["sacctmgr"] = append(words["sacctmgr"], strings.Fields("show list assoc user account qos cluster where format=user,account user= add -P")...)
	names := slices.Sorted(maps.Keys(words))
	call := rapid.Custom(func(rt *rapid.T) []string {
		name := rapid.SampledFrom(names).Draw(rt, "command")
		args := []string{name}
		if name == "scontrol" && rapid.Bool().Draw(rt, "verb") {
			args = append(args, rapid.SampledFrom(strings.Fields("show hold release requeue requeuehold suspend top update write")).Draw(rt, "first"))
		}
		return append(args, rapid.SliceOfN(rapid.SampledFrom(words[name]), 1, 6).Draw(rt, "args")...)
	})
	rapid.Check(t, func(rt *rapid.T) {
		env := rapid.SampledFrom(environments).Draw(rt, "env")
		for _, c := range rapid.SliceOfN(call, 20, 20).Draw(rt, "calls") {
			var out bytes.Buffer
			run(c[0], c[1:], env, &out, &out)
		}
	})
}
