package sbatch

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
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

// parseScript runs the parser on a script as the recording did: sbatch < script, in /tmp.
func parseScript(script string) (*parser, error) {
	p := newParser(&Input{Dir: "/tmp", Host: "host", Now: recordedOn, Files: noFiles{},
		Stdin: func() ([]byte, error) { return []byte(script), nil }})
	return p, p.run()
}

type noFiles struct{}

func (noFiles) Exists(string) bool { return false }
func (noFiles) Read(name string, _ int) ([]byte, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// compare says in what the parser and the real sbatch differ; "" if in nothing.
func compare(script string, want answer) string {
	p, err := parseScript(script)
	var exit *Exit
	errors.As(err, &exit)
	if err != nil && !isRefusal(exit) {
		first := append(exit.Stderr, "")[0]
		switch {
		case len(want.Messages) > 0 && first == want.Messages[0] && exit.Code == want.RC:
			return ""
		case !want.refusedLocally():
			return "we refuse: " + first
		case exit.Code != want.RC:
			return "exit code differs: " + first
		case first != want.Messages[0]:
			return "we say " + first + ", sbatch says " + want.Messages[0]
		}
		return ""
	}
	if want.refusedLocally() {
		return "sbatch refuses: " + strings.Join(want.Messages, "; ")
	}
	if strings.Contains(exitText(exit), "hetjob") {
		return "" // refused before the options are read
	}
	return compareOptions(p.defined(), want.Options)
}

func exitText(e *Exit) string {
	if e == nil {
		return ""
	}
	return e.Error()
}

func isRefusal(e *Exit) bool { return strings.Contains(exitText(e), "carried by fsub") }

func compareOptions(got map[string]string, components []map[string]string) string {
	want := map[string]string{}
	for k, v := range components[0] {
		if isCarried(k) {
			want[k] = v
		}
	}
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
	if strings.EqualFold(want["gres"], "none") {
		want["gres"] = "none"
	}
	if want["get-user-env"] != "" {
		want["get-user-env"] = "set"
	}
	if strings.HasPrefix(want["time"], "2982611-") { // a negative limit; a Duration ends at 292 years
		want["time"] = "UNLIMITED"
	}
	var diff []string
	for k, v := range want {
		if got[k] != v {
			diff = append(diff, k+": got "+got[k]+", want "+v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			diff = append(diff, k+": got "+v+", want none")
		}
	}
	return strings.Join(diff, "; ")
}

func isCarried(name string) bool {
	for i := range options {
		if options[i].name == name {
			return options[i].class == carried
		}
	}
	return false
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
	score(t, "directives_open.jsonl.gz", func(line []byte) (string, string, answer) {
		var c struct {
			Source     string   `json:"source"`
			Shebang    string   `json:"shebang"`
			Directives []string `json:"directives"`
			Answer     answer   `json:"sbatch_24.11"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		return c.Source, rebuild(c.Shebang, c.Directives), c.Answer
	})
}

func TestRecordedCases(t *testing.T) {
	score(t, "cli_golden/directive_cases.jsonl", func(line []byte) (string, string, answer) {
		var c struct {
			Case   string `json:"case"`
			Script string `json:"script"`
			Answer answer `json:"24.11"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		return c.Case, c.Script, c.Answer
	})
}

// knownDifferences are cases that cannot or need not agree, each with its reason.
var knownDifferences = map[string]string{
	"CICE-Consortium/CICE/configuration/scripts/cice.batch.csh": "what sbatch refused are #PBS lines, which the recording leaves out",
	"hint help": "what is printed there is on stdout",
}

// score compares every case of a file and prints how many agree.
func score(t *testing.T, name string, read func([]byte) (string, string, answer)) {
	lines := bufio.NewScanner(oracle(t, name))
	lines.Buffer(nil, 1<<20)
	total, good, accepted, taken := 0, 0, 0, 0
	for lines.Scan() {
		label, script, want := read(lines.Bytes())
		if why := knownDifferences[label]; why != "" {
			t.Logf("left out: %s: %s", label, why)
			continue
		}
		total++
		if !want.refusedLocally() {
			accepted++
			if _, err := parseScript(script); err == nil {
				taken++
			}
		}
		if diff := compare(script, want); diff != "" {
			t.Errorf("%s: %s", label, diff)
		} else {
			good++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d of %d agree with sbatch 24.11; of the %d that it accepts %d are carried", name, good, total, accepted, taken)
}
