package sbatch

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oracle opens a file of recorded answers of the real sbatch.
func oracle(t testing.TB, name string) io.Reader {
	t.Helper()
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: the recorded answers of the real sbatch are not there, nothing is compared")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// answer is what the real sbatch said to one script.
type answer struct {
	Verdict  string              `json:"verdict"`
	Parse    string              `json:"parse"`
	RC       int                 `json:"rc"`
	Options  []map[string]string `json:"options"`
	Messages []string            `json:"messages"`
}

// refusedLocally: sbatch itself said no, before any controller was asked.
func (a answer) refusedLocally() bool { return a.Verdict == "local-reject" || a.Parse == "rejected" }

// recordedOn is when the answers were recorded, for the times that are relative to it.
var recordedOn = time.Date(2026, 11, 20, 17, 0, 0, 0, time.UTC)

// understand reads a script as the recording did: sbatch < script, in /tmp.
func understand(r Release, script string) (*Understood, error) {
	return Understand(Input{Slurm: r, Dir: "/tmp", Host: "host", Now: recordedOn, Files: noFiles{},
		Stdin: func() ([]byte, error) { return []byte(script), nil }})
}

type noFiles struct{}

func (noFiles) Exists(string) bool { return false }
func (noFiles) Read(name string, _ int) ([]byte, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// compare says in what the parser and the real sbatch differ; "" if in nothing.
func compare(r Release, script string, want answer) string {
	got, err := understand(r, script)
	var exit *Exit
	first := append(want.Messages, "")[0]
	switch {
	case errors.As(err, &exit) && (want.refusedLocally() || len(got.Components) == 0):
		said := append(append(exit.Stderr, strings.Split(exit.Stdout, "\n")...), "")[0] // the recording has stdout among the messages
		if exit.Code != want.RC || !want.refusedLocally() {
			return "we refuse with " + strconv.Itoa(exit.Code) + ": " + said
		}
		if said != first {
			return "we say " + said + ", sbatch says " + first
		}
		return ""
	case want.refusedLocally():
		return "sbatch refuses: " + strings.Join(want.Messages, "; ")
	}
	if exit != nil { // refused when the options were known
		if said := append(exit.Stderr, "")[0]; exit.Code != want.RC || said != first {
			return "we say " + said + ", sbatch says " + first
		}
	} else if said := append(got.Notices, "")[0]; isNotice(first) && said != first || !isNotice(first) && said != "" {
		return "we say " + said + ", sbatch says " + first
	}
	if len(got.Components) != len(want.Options) {
		return strconv.Itoa(len(got.Components)) + " components, sbatch has " + strconv.Itoa(len(want.Options))
	}
	diff := ""
	for i := range want.Options {
		diff += compareOptions(got.Components[i], want.Options[i])
	}
	return diff
}

// isNotice: sbatch says so by itself and goes on; what else it says to an accepted script is what the controller answered.
func isNotice(line string) bool {
	for _, begin := range [...]string{"sbatch: warning:", "sbatch: Warning:", "sbatch: Number of tasks", "sbatch: Following options",
		"sbatch: Setting --cpu-bind", "sbatch: error: Change from #SLURM"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

func compareOptions(got, want map[string]string) string {
	for _, relative := range []string{"begin", "deadline"} { // to the moment of the recording
		if want[relative] != "" && got[relative] != "" {
			delete(want, relative)
			delete(got, relative)
		}
	}
	for k, v := range want { // what looked like an address was masked in the recording
		if strings.Contains(v, "<email>") {
			delete(want, k)
			delete(got, k)
		}
	}
	var diff []string
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			diff = append(diff, k+": got "+g+", want "+v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			diff = append(diff, k+": got "+v+", want none")
		}
	}
	return strings.Join(diff, "; ")
}

// rebuild makes a script of a recorded script's directives. E-mail addresses were masked in the recording.
func rebuild(shebang string, directives []string) string {
	var b strings.Builder
	if shebang != "" {
		b.WriteString(shebang + "\n")
	}
	for _, d := range directives {
		b.WriteString("#SBATCH " + d + "\n")
	}
	b.WriteString("hostname\n")
	return b.String()
}

func TestRecordedScripts(t *testing.T) {
	score(t, "directives_open.jsonl.gz", func(line []byte) recorded {
		var c struct {
			Source     string   `json:"source"`
			Shebang    string   `json:"shebang"`
			Directives []string `json:"directives"`
			Now        answer   `json:"sbatch_24.11"`
			Old        answer   `json:"sbatch_22.05"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		script := rebuild(c.Shebang, c.Directives)
		return recorded{c.Source, script, script, c.Now, c.Old}
	})
}

func TestRecordedCases(t *testing.T) {
	score(t, "cli_golden/directive_cases.jsonl", func(line []byte) recorded {
		var c struct {
			Case   string `json:"case"`
			Script string `json:"script"`
			Now    answer `json:"24.11"`
			Old    answer `json:"22.05"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		// The site with 22.05 had other names.
		old := strings.NewReplacer("=main", "=batch", "=chk", "=chkb", " chk", " chkb").Replace(c.Script)
		return recorded{c.Case, c.Script, old, c.Now, c.Old}
	})
}

// knownDifferences are cases that cannot or need not agree, each with its reason.
var knownDifferences = map[string]string{
	"CICE-Consortium/CICE/configuration/scripts/cice.batch.csh": "what sbatch refused are #PBS lines, which the recording leaves out",
}

// recorded is one script and what the two releases made of it.
type recorded struct {
	label           string
	script, old     string
	answer, answer2 answer
}

// score compares every case of a file with both releases and prints how many agree.
func score(t *testing.T, name string, read func([]byte) recorded) {
	lines := bufio.NewScanner(oracle(t, name))
	lines.Buffer(nil, 1<<20)
	total, good, good2 := 0, 0, 0
	for lines.Scan() {
		c := read(lines.Bytes())
		if why := knownDifferences[c.label]; why != "" {
			t.Logf("left out: %s: %s", c.label, why)
			continue
		}
		total++
		if diff := compare(Slurm2411, c.script, c.answer); diff != "" {
			t.Errorf("24.11: %s: %s", c.label, diff)
		} else {
			good++
		}
		if diff := compare(Slurm2205, c.old, c.answer2); diff != "" {
			t.Errorf("22.05: %s: %s", c.label, diff)
		} else {
			good2++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: of %d, %d agree with sbatch 24.11 and %d with 22.05", name, total, good, good2)
}
