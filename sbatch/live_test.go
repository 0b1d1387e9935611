package sbatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	liveCases = flag.Int("live.cases", 300, "how many random calls to compare with the real sbatch")
	liveWrite = flag.Bool("live.record", false, "write the calls and the real sbatch's answers to testdata/calls-RELEASE.jsonl")
	liveSeed  = flag.Uint64("live.seed", 11, "seed of the random calls")
)

// TestAgainstRealSbatch compares random calls with the real sbatch (22.05, 24.11 or 26.05) of a root filesystem: that of the test
// bed, or the one that FSUB_SBATCH_ROOT names. No controller is needed: a cli_filter prints the options and then stops.
func TestAgainstRealSbatch(t *testing.T) {
	if root := os.Getenv("FSUB_SBATCH_ROOT"); root != "" {
		againstRealSbatch(t, root)
		return
	}
	for _, suite := range []string{"trixie", "forky"} { // numbers of 22.05 wrap in ways that are not followed to the last bit
		t.Run(suite, func(t *testing.T) {
			againstRealSbatch(t, cmp.Or(os.Getenv("FSUB_BED"), "/var/lib/fsub-bed")+"/roots/"+suite)
		})
	}
}

func againstRealSbatch(t *testing.T, root string) {
	command := realSbatch(t, root)
	t.Logf("seed %d", *liveSeed)
	r := rand.New(rand.NewPCG(*liveSeed, 1))
	dir := t.TempDir()
	var lines []byte
	for range *liveCases {
		c := randomCall(r, command.release)
		a := c.ask(command, dir)
		if diff := c.compare(a); diff != "" {
			t.Errorf("%s\n  %s", c, diff)
			continue // not recorded: it is told here
		}
		line, _ := json.Marshal(a)
		lines = append(append(lines, line...), '\n')
	}
	if *liveWrite {
		if err := os.WriteFile("testdata/calls-"+string(command.release)+".jsonl", lines, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordedCalls compares calls whose answers were recorded from sbatch 22.05.8, 24.11.5 and 26.05.5: random ones (go test -run AgainstReal
// -live.record), lines of other batch systems, and what --get-user-env takes.
func TestRecordedCalls(t *testing.T) {
	for _, file := range []string{"testdata/calls-22.05.jsonl", "testdata/calls-24.11.jsonl", "testdata/calls-26.05.jsonl", "testdata/foreign.jsonl",
		"testdata/get-user-env.jsonl"} {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(body)) {
			var a reply
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			c := call{a.Args, a.Env, a.Script, a.Release}
			if diff := c.compare(a); diff != "" {
				t.Errorf("%s\n  %s", c, diff)
			}
			n++
		}
		if n < 75 {
			t.Errorf("%s: only %d calls are recorded", file, n)
		}
	}
}

// reply is what the real sbatch made of a call.
type reply struct {
	Args    []string          `json:"args,omitempty"`
	Env     []string          `json:"env,omitempty"`
	Script  string            `json:"script"`
	Dir     string            `json:"dir"`
	At      time.Time         `json:"at"`
	Exit    int               `json:"exit"`
	Stderr  []string          `json:"stderr,omitempty"`
	Parsed  bool              `json:"parsed"`
	Options map[string]string `json:"options,omitempty"`
	Release Release           `json:"release,omitempty"`
}

// call is one call of sbatch with the script on stdin.
type call struct {
	args, env []string
	script    string
	release   Release
}

func (c call) String() string {
	return fmt.Sprintf("args %q env %q script %q", c.args, c.env, strings.TrimPrefix(c.script, "#!/bin/sh\n"))
}

// sbatchCommand is how to run a real sbatch from another root filesystem without entering that.
type sbatchCommand struct {
	args    []string
	conf    string // slurm.conf
	release Release
}

func realSbatch(t *testing.T, root string) sbatchCommand {
	if _, err := os.Stat(root + "/usr/bin/sbatch"); err != nil {
		t.Skipf("no real sbatch to compare with (%v): bring the test bed up, or set FSUB_SBATCH_ROOT to a root filesystem with Slurm 24.11", err)
	}
	const triple = "x86_64-linux-gnu"
	plugins := root + "/usr/lib/" + triple + "/slurm-wlm"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"slurm.conf": "ClusterName=oracle\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=root\nAuthType=auth/none\nCredType=cred/none\n" +
			"CliFilterPlugins=cli_filter/lua\nPluginDir=" + plugins + "\nNodeName=n1 CPUs=4\nPartitionName=main Nodes=n1 Default=YES\n",
		"cli_filter.lua": "function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end\n" +
			"function slurm_cli_pre_submit(options, component)\n" +
			"  io.stdout:write('OFF=' .. component .. ' ' .. slurm.json_cli_options(options) .. '\\n')\n  return slurm.ERROR\nend\n" +
			"function slurm_cli_post_submit(component, job, step) return slurm.SUCCESS end\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lib := plugins + ":" + root + "/usr/lib/" + triple + ":" + root + "/lib/" + triple
	c := sbatchCommand{conf: dir + "/slurm.conf", args: []string{root + "/lib64/ld-linux-x86-64.so.2", "--argv0", "sbatch", "--library-path", lib,
		root + "/usr/bin/sbatch"}}
	version := exec.Command(c.args[0], append(c.args[1:len(c.args):len(c.args)], "--version")...)
	version.Env = []string{"SLURM_CONF=" + c.conf}
	out, err := version.Output()
	for _, r := range Releases() {
		if err == nil && strings.Contains(string(out), " "+string(r)+".") {
			c.release = r
			return c
		}
	}
	t.Skipf("the real sbatch of %s is %q (%v), whose rules are not known", root, out, err)
	return c
}

// ask runs the real sbatch.
func (c call) ask(real sbatchCommand, dir string) reply {
	cmd := exec.Command(real.args[0], append(real.args[1:len(real.args):len(real.args)], c.args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "SLURM_CONF=" + real.conf}, c.env...)
	a := reply{Args: c.args, Env: c.env, Script: c.script, Dir: dir, At: time.Now().UTC(), Release: c.release}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	a.Exit = cmd.ProcessState.ExitCode()
	if _, options, parsed := strings.Cut(string(out), "OFF=0 "); parsed {
		var all map[string]any
		a.Parsed, a.Options = true, map[string]string{}
		json.Unmarshal([]byte(options), &all)
		for k, v := range all {
			if text, ok := v.(string); ok {
				a.Options[k] = text
			}
		}
		return a
	}
	a.Stderr = strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
	return a
}

// compare says in what the parser and the real sbatch differ; "" if in nothing.
func (c call) compare(a reply) string {
	p := newParser(&Input{Slurm: c.release, Args: c.args, Env: c.env, Dir: a.Dir, Now: a.At, Files: noFiles{}, Root: true,
		Stdin: func() ([]byte, error) { return []byte(c.script), nil }})
	p.parseOnly = true
	var exit *Exit
	err := p.read()
	errors.As(err, &exit)
	switch {
	case a.Parsed != (err == nil):
		return fmt.Sprintf("we say %q, sbatch %q %v", fmt.Sprint(err), a.Stderr, a.Options)
	case err != nil && exit.Code != a.Exit:
		return fmt.Sprintf("exit %d, sbatch's %d", exit.Code, a.Exit)
	case err != nil && strings.Join(exit.Stderr, "\n") != strings.Join(a.Stderr, "\n"):
		return fmt.Sprintf("\n we say %q,\n sbatch %q", exit.Stderr, a.Stderr)
	case err != nil:
		return ""
	}
	return compareLive(p.understood[0], merged(a.Options))
}

// merged is a copy that may be written to.
func merged(m map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m)
	return out
}

func compareLive(got, want map[string]string) string {
	delete(got, "switches") // sbatch does not show those of the environment, and shows a bad wait as INVALID
	for _, k := range []string{"begin", "deadline"} {
		// Relative to a clock that goes on: a second more or less is the same.
		a, err1 := time.Parse("2006-01-02T15:04:05", got[k])
		b, err2 := time.Parse("2006-01-02T15:04:05", want[k])
		if err1 == nil && err2 == nil && a.Sub(b).Abs() <= time.Second {
			delete(got, k)
			delete(want, k)
		}
	}
	if want["oversubscribe"] != "" { // one field in sbatch, and refused together later
		delete(want, "exclusive")
		delete(got, "exclusive")
	}
	for _, k := range []string{"nodelist", "nodefile"} { // of the two, sbatch sometimes shows the one that does not count as empty
		if want[k] == "" && got[k] == "" {
			delete(want, k)
			delete(got, k)
		}
	}
	delete(want, "switches")
	return compareOptions(got, want)
}
