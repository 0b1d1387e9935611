package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"fsub/testbed/bed"
)

// result is what a test came to.
type result struct {
	verdict string // SUCCESS, FAILURE or SKIPPED as the suite says it; UNFINISHED if it says nothing
	why     string // the first complaint of a test that did not succeed
	took    time.Duration
}

var (
	verdictLine = regexp.MustCompile(`(?m)^(SUCCESS|FAILURE|SKIPPED) +: test`)
	whyLine     = regexp.MustCompile(`(?m)^\[[-0-9:. ]+\] (?:Fatal|Error|Warning) +(.*?)(?: \(\w+@globals.*)?\r?$`)
)

// run runs one test at the site, as its user. Jobs that it leaves behind are cancelled.
func (s *side) run(ctx context.Context, t test) (result, error) {
	file := filepath.Join(s.logDir(), t.name+".log")
	log, err := os.Create(file)
	if err != nil {
		return result{}, err
	}
	defer log.Close()
	start := time.Now()
	// the test's own processes have terminals of their own: timeout(1) inside the site reaches the test, and its terminals' ends the rest
	err = s.b.Exec(ctx, bed.Cmd{Site: site, User: t.user, Dir: s.home("expect"), Env: s.env(), Stdout: log, Stderr: log,
		Args: []string{"timeout", "-k", "5", strconv.Itoa(int(s.limit.Seconds())), "./" + t.name}})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{}, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return result{}, err
	}
	r := judge(string(text))
	r.took = time.Since(start).Round(time.Second)
	return r, s.clear(ctx, t.user)
}

// judge reads a test's output.
func judge(text string) result {
	r := result{verdict: "UNFINISHED"}
	if m := verdictLine.FindAllStringSubmatch(text, -1); m != nil {
		r.verdict = m[len(m)-1][1]
	}
	if m := whyLine.FindStringSubmatch(text); m != nil && r.verdict != "SUCCESS" {
		r.why = m[1]
	}
	return r
}

func (s *side) env() []string {
	env := []string{"SLURM_TESTSUITE_CONF=" + s.home("testsuite.conf"), "SLURM_LOCAL_GLOBALS_FILE=" + s.home("globals.local")}
	if s.name == "ours" {
		env = append(env, "FSUB_SOCKET="+s.b.SocketFile(), "PATH="+s.b.BinDir()+":/usr/local/bin:/usr/bin:/bin")
	}
	return env
}

// clear cancels the user's jobs: a test should find the nodes free.
func (s *side) clear(ctx context.Context, user string) error {
	return s.b.Exec(ctx, bed.Cmd{Site: site, User: user, Env: s.env(), Args: []string{"scancel", "--user=" + user}})
}
