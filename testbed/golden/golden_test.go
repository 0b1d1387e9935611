package golden

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// line is one recorded call. RC is a number, or "timeout" where the real command had not ended after some minutes.
type line struct {
	Client string `json:"client"`
	Cmd    string `json:"cmd"`
	RC     any    `json:"rc"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// command is the name of the command of ours that the line calls.
func (l *line) command() string {
	words := strings.Fields(l.Cmd)
	i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(commands, w) })
	return words[i]
}

// answer is what one side said.
type answer struct{ rc, stdout, stderr string }

var commands = []string{"sbatch", "squeue", "scancel", "sinfo", "sacct", "scontrol", "sacctmgr", "sshare"}

// recorded reads the lines of a file of the oracle.
func recorded(t *testing.T, file string) []line {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_ORACLE is not set: there are no recorded runs of real Slurm to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", file))
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	var out []line
	for text := range bytes.Lines(b) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// counts says how the lines of one command fared.
type counts struct{ lines, equal, reordered, excepted, pending int }

func TestGolden(t *testing.T) {
	lines := recorded(t, "golden_24.11.jsonl")
	bin := install(t)
	exceptionOf := exceptionsByLine(t, lines)
	sums := map[string]*counts{}
	worlds := map[int]*world{} // by phase
	for i := range lines {
		l := &lines[i]
		name := l.command()
		if sums[name] == nil {
			sums[name] = &counts{}
		}
		p := phaseAt(i)
		if worlds[p] == nil {
			worlds[p] = newWorld(t, p)
		}
		w := worlds[p]
		t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) {
			sum := sums[name]
			sum.lines++
			got, want := w.run(t, bin, l.Cmd), answer{fmt.Sprint(l.RC), l.Stdout, l.Stderr}
			diff, reordered := compare(l, exceptionOf[l.Cmd], w, got, want)
			if exceptionOf[l.Cmd] != nil {
				if plain, _ := compare(l, nil, w, got, want); plain == "" {
					t.Errorf("the exception is superfluous, take it out of the table: %s", l.Cmd)
				}
			}
			waits := slices.Contains(pending, l.Cmd)
			switch {
			case diff == "" && exceptionOf[l.Cmd] != nil:
				sum.excepted++
			case diff == "":
				sum.equal++
				if reordered {
					sum.reordered++
				}
			case waits:
				sum.pending++
				t.Logf("pending: %s\n%s", l.Cmd, diff)
				return
			default:
				t.Errorf("%s\n%s", l.Cmd, diff)
			}
			if waits {
				t.Logf("no longer pending, take it out of the list: %s", l.Cmd)
			}
		})
	}
	summary(t, sums)
}

func summary(t *testing.T, sums map[string]*counts) {
	var b strings.Builder
	for _, name := range commands {
		if s := sums[name]; s != nil && s.lines > 0 {
			fmt.Fprintf(&b, "%-9s %d/%d equal, %d by exception", name, s.equal, s.lines, s.excepted)
			if s.reordered > 0 {
				fmt.Fprintf(&b, " (%d with rows of equal rank in another order)", s.reordered)
			}
			if n := s.lines - s.equal - s.excepted; n > 0 {
				fmt.Fprintf(&b, ", %d DIFFER (%d of them listed as pending)", n, s.pending)
			}
			b.WriteByte('\n')
		}
	}
	t.Log("\n" + b.String())
}

// compare says how got differs from want once both are masked; "" if not at all. reordered tells that rows come in another order.
func compare(l *line, e *exception, w *world, got, want answer) (diff string, reordered bool) {
	got, want = w.mask(got), recordedMask(want)
	if e != nil {
		got, want = e.apply(got), e.apply(want)
	}
	var b strings.Builder
	if got.rc != want.rc {
		fmt.Fprintf(&b, "  exit code %s, want %s\n", got.rc, want.rc)
	}
	if got.stderr != want.stderr {
		fmt.Fprintf(&b, "  stderr\n     got %q\n    want %q\n", got.stderr, want.stderr)
	}
	switch {
	case strings.Contains(l.Cmd, "--json"):
		for _, d := range compareJSON(got.stdout, want.stdout, e) {
			fmt.Fprintf(&b, "  json %s\n", d)
		}
	case got.stdout == want.stdout:
	case sorted(got.stdout) == sorted(want.stdout):
		reordered = true
	default:
		fmt.Fprintf(&b, "  stdout\n%s", diffLines(got.stdout, want.stdout))
	}
	return b.String(), reordered
}

func sorted(s string) string {
	rows := strings.Split(s, "\n")
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// diffLines shows the lines that differ, the first dozen of them.
func diffLines(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	shown := 0
	for i := range max(len(g), len(w)) {
		var x, y string
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x == y {
			continue
		}
		if shown++; shown > 12 {
			b.WriteString("     ...\n")
			break
		}
		fmt.Fprintf(&b, "    line %d\n      got %q\n     want %q\n", i+1, x, y)
	}
	return b.String()
}

// install builds the client and links it under all of its names, in a folder that every user may read.
func install(t *testing.T) string {
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "fsub"), "fsub/cmd/fsub")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, name := range commands {
		if err := os.Symlink("fsub", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run gives a line to the shell, as alice.
func (w *world) run(t *testing.T, bin, text string) answer {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = w.home
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + w.home, "FSUB_SOCKET=" + w.daemon.Socket, "TZ=" + zone}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: w.uid, Gid: w.uid}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	rc := fmt.Sprint(cmd.ProcessState.ExitCode())
	if ctx.Err() != nil {
		rc = "timeout"
	}
	return answer{rc, stdout.String(), stderr.String()}
}

// phaseAt is the number of the phase in which line i was recorded.
func phaseAt(i int) int {
	n, found := slices.BinarySearchFunc(phases, i, func(p phase, i int) int { return cmp.Compare(p.from, i) })
	if !found {
		n--
	}
	return n
}
