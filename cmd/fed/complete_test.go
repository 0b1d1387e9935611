package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/commands"
	shellscript "fsub/cmd/internal/complete"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

func completed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(append([]string{"__complete"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String()
}

// TestCompletion: what a usage line calls JOB is completed by jobs, and so on.
func TestCompletion(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	t.Setenv("FSUB_SOCKET", d.Socket)
	d.Put(t, federation.Job{ID: 30000017, User: "alice", UID: 7001, State: federation.Running, Spec: &sbatch.Spec{Name: "train", WorkDir: "/", Fed: &sbatch.Fed{Group: "sweep/lr-3"}}})
	d.Controller.SetSites(&federation.Site{Name: "alpha", State: federation.FedActive})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", ""}, "30000017\ttrain of alice, RUNNING\n"},
		{[]string{"job", "show", "3"}, "30000017\t"},
		{[]string{"site", "show", ""}, "alpha\n"},
		{[]string{"job", "list", "--where", ""}, "state=\n"},
		{[]string{"job", "list", "--where", "user="}, "user=alice\n"},
		{[]string{"events", "--where", "group="}, "group=sweep/lr-3\n"},
		{[]string{"report", "cost", "--by", "site,"}, "site,account\n"},
		{[]string{"report", "cost", "--where", ""}, "gpu=\n"},
		{[]string{"report", "cost", "--every", ""}, "week\n"},
		{[]string{"compl"}, "completion\t"},
	} {
		if got := completed(t, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q lacks %q", c.args, got, c.want)
		}
	}
	if got := completed(t, "report", "cost", "--by", "site,"); strings.Contains(got, "site,site") {
		t.Errorf("a dimension twice: %q", got)
	}
}

// A daemon that is not there, or does not answer, completes nothing, says nothing, and does not keep the shell.
func TestCompletionIsSilentAndSoon(t *testing.T) {
	dir := t.TempDir()
	mute, err := net.Listen("unix", dir+"/mute")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, socket := range []string{dir + "/mute", dir + "/none"} {
		t.Setenv("FSUB_SOCKET", socket)
		began := time.Now()
		if got := completed(t, "explain", ""); !strings.HasPrefix(got, ":") || time.Since(began) > 2*time.Second {
			t.Errorf("%s: %q after %s", socket, got, time.Since(began))
		}
	}
}

// stub is a daemon's words, for commands that complete.
const stub = `
words() { case $* in "--fed-words own-jobs") printf '30000017\ttrain\n30000018\tprep\n' ;; "--fed-words partitions") printf 'main\ndebug\n' ;;
"--fed-words operands") echo show ;; "--fed-words operands show") echo job; echo node ;; esac; }
for name in scancel sbatch scontrol squeue; do eval "$name() { words \"\$@\"; }"; done
`

// TestSlurmCompletionOfBash: options of the tables, their values, operands.
func TestSlurmCompletionOfBash(t *testing.T) {
	bash := judge(t, "bash")
	script := shellscript.Bash(append([]string{"fsub"}, commands.Shims()...)) + stub + `
compopt() { :; }
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _fsub_complete; echo "${COMPREPLY[@]}"; }
try scancel 3000
try sbatch -p ma
try sbatch --partition = main,de
try sbatch --part
try scontrol sh
try scontrol show n
try sbatch --open-mode = a
try squeue --not
try sbatch --nodes = 2
try fsub login --oi
try fsub login --scope o
try fsub --oi`
	out, err := exec.Command(bash, "-c", script).CombinedOutput()
	want := "30000017 30000018\nmain\nmain,debug\n--partition=\nshow\nnode\nappend\n--notme\n\n--oidc\noperate\n\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

// TestSlurmCompletionOfFish asks fish what it would complete.
func TestSlurmCompletionOfFish(t *testing.T) {
	fish := judge(t, "fish")
	script := shellscript.Fish(append([]string{"fsub"}, commands.Shims()...)) + `
function sbatch; test "$argv" = "--fed-words partitions"; and printf 'main\ndebug\n'; end
function scancel; test "$argv" = "--fed-words own-jobs"; and printf '30000017\ttrain\n'; end
function scontrol; test "$argv" = "--fed-words operands show"; and printf 'job\nnode\n'; end
complete -C 'sbatch --partiti'
complete -C 'sbatch -p m'
complete -C 'sbatch --partition=main,de'
complete -C 'scancel 3'
complete -C 'scontrol show n'
complete -C 'fsub login --oid'`
	cmd := exec.Command(fish, "--no-config", "-c", script)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	want := "--partition%s\nmain%[1]s\n--partition=main,debug%[1]s\n30000017\ttrain\nnode\n--oidc\tsign in at the daemon's OpenID provider\n"
	if want = fmt.Sprintf(want, "\trun in one of these partitions"); err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

// TestSlurmCompletionOfZsh loads the script as zsh does.
func TestSlurmCompletionOfZsh(t *testing.T) {
	zsh := judge(t, "zsh")
	file := filepath.Join(t.TempDir(), "_fsub")
	if err := os.WriteFile(file, []byte(shellscript.Zsh(append([]string{"fsub"}, commands.Shims()...))), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(zsh, "-f", "-c", "autoload -U compinit; compinit -D -u; source "+file+"; print $_comps[sbatch] $_comps[fsub-remote]").CombinedOutput()
	if err != nil || string(out) != "_fsub_complete _fsub_complete\n" {
		t.Errorf("%v: %s", err, out)
	}
}
