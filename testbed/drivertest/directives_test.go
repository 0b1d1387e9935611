package drivertest_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// collected is a public script: its first line and directives.
type collected struct {
	Source, Shebang string
	Directives      []string
}

// TestRealDirectives submits what people have written, made to fit the bed, by real sbatch and by us, both held, and compares what the
// controller says of the jobs and the scripts that it keeps. FSUB_FULL=1 takes all scripts, else about every eighth.
func TestRealDirectives(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_ORACLE does not name the folder of directives_open.jsonl.gz")
	}
	b, names := realBed(t)
	site := names[0]
	h := realHarness(t, b, site)
	var same, refused int
	for _, c := range readCollected(t, filepath.Join(dir, "directives_open.jsonl.gz")) {
		t.Run(c.Source, func(t *testing.T) {
			script := c.fitting(h.GPUType) + "true\n"
			if regexp.MustCompile(`(?m)^#SBATCH\s+(hetjob|packjob)`).MatchString(script) {
				t.Skip("SKIPPED: several jobs: compared in testbed/contract and testbed/spine")
			}
			theirs, why := trySite(t, b, site, h.Dir, script)
			ours, err := tryArgs(t, h, []string{"-H", "job.sh"})
			switch {
			case why != "" && (err != nil || strings.Contains(why, beforehand)):
				refused++
				return
			case notViable(err):
				t.Skipf("SKIPPED: not viable: %v", err)
			case why != "":
				t.Fatalf("sbatch refuses: %s; the driver submits it:\n%s", why, script)
			case err != nil:
				t.Fatalf("the driver does not submit it: %v\n%s", err, script)
			}
			compare(t, site, scontrol(t, b, site, theirs), scontrol(t, b, site, ours))
			for _, id := range []string{theirs, ours} {
				if kept, err := b.Output(context.Background(), site, "", "scontrol", "write", "batch_script", id, "-"); err != nil || kept != script {
					t.Errorf("job %s has the script %q, %v, want %q", id, kept, err, script)
				}
			}
			if !t.Failed() {
				same++
			}
		})
	}
	t.Logf("%d pairs of jobs are the same, %d scripts are refused by both", same, refused)
	if same < 50 {
		t.Errorf("only %d pairs were compared", same)
	}
}

// readCollected takes the sample: always the same one, whatever the order in the file.
func readCollected(t *testing.T, name string) []collected {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []collected
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c collected
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(c.Source))
		if os.Getenv("FSUB_FULL") != "" || binary.BigEndian.Uint32(sum[:])%8 == 0 {
			all = append(all, c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// beforehand is what sbatch says of jobs that the daemon does not take, so that no driver is given them.
const beforehand = "--gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed."

var (
	// foreign are options whose values only the site of their author has.
	foreign = regexp.MustCompile(`(^|\s)(-[ACqwxLpMd]\s*|--(account|constraint|qos|reservation|nodelist|exclude|licenses|partition|mail-user|mail-type|clusters?|wckey|mcs-label|cluster-constraint|prefer|batch|bbf?|dependency|array-bb)(=|\s+))("[^"]*"|'[^']*'|[^\s"']+)`)
	gpuType = regexp.MustCompile(`\bgpu:[A-Za-z][\w.-]*`)
	gpuOnly = regexp.MustCompile(`(--gpus(?:-per-(?:node|task|socket))?[= ]|-G\s*)[A-Za-z][\w.-]*`)
)

// fitting is the script as the bed could run it: without what names things of another site, and with the GPUs that the bed has.
func (c *collected) fitting(gpus string) string {
	var text strings.Builder
	text.WriteString(c.Shebang + "\n#SBATCH -p main\n")
	for _, d := range c.Directives {
		d = foreign.ReplaceAllString(d, " ")
		d = gpuType.ReplaceAllString(d, "gpu:"+gpus)
		d = gpuOnly.ReplaceAllString(d, "${1}"+gpus)
		text.WriteString("#SBATCH " + d + "\n")
	}
	return text.String()
}

// trySite submits a script, held, with the site's own sbatch; refused is what that says against it.
func trySite(t *testing.T, b *bed.Bed, site, dir, script string) (id, refused string) {
	t.Helper()
	file := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	err := b.Exec(context.Background(), bed.Cmd{Site: site, User: "alice", Dir: dir, Args: []string{"sbatch", "--parsable", "-H", "job.sh"}, Stdout: &out, Stderr: &errOut})
	if err != nil {
		return "", err.Error() + " " + errOut.String()
	}
	id = strings.TrimSpace(out.String())
	if _, err := strconv.Atoi(id); err != nil {
		t.Fatalf("sbatch prints %q", id)
	}
	cancelAtEnd(t, b, site, id)
	return id, ""
}

// files are those of this machine: sites and tests share the homes.
type files struct{}

func (files) Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func (files) Read(name string, limit int) ([]byte, error) {
	body, err := os.ReadFile(name)
	return body[:min(len(body), limit)], err
}
