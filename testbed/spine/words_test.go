package spine

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWords gives the same bad input to the site's own sbatch and to fsub: exit status and words must be the same, byte by byte.
// fsub may say in some more lines what to look at.
func TestWords(t *testing.T) {
	world.Need(t)
	script(t, "alice", "good.sh", "#!/bin/sh\ntrue\n")
	script(t, "alice", "nobang.sh", "echo hello\n")
	script(t, "alice", "empty.sh", "")
	script(t, "alice", "blank.sh", " \n\n")
	script(t, "alice", "dos.sh", "#!/bin/sh\r\necho hello\r\n")
	script(t, "alice", "badline.sh", "#!/bin/sh\n#SBATCH --nodes=2 two\ntrue\n")
	script(t, "alice", "quote.sh", "#!/bin/sh\n#SBATCH --job-name=\"x\ntrue\n")
	script(t, "alice", "huge.sh", "#!/bin/sh\n"+strings.Repeat("# a line that is there to be long\n", 140_000))
	for _, args := range [][]string{
		{"nosuchfile.sh"},
		{"nobang.sh"},
		{"empty.sh"},
		{"blank.sh"},
		{"dos.sh"},
		{"badline.sh"},
		{"quote.sh"},
		{"huge.sh"},
		{"--nosuchoption", "good.sh"},
		{"--ti=5", "good.sh"},
		{"-Z", "good.sh"},
		{"--time=1h", "good.sh"},
		{"--mem=4GiB", "good.sh"},
		{"--mem=1G", "--mem-per-cpu=1G", "good.sh"},
		{"--nodes=x", "good.sh"},
		{"--nodes=4-2", "good.sh"},
		{"--ntasks=0", "good.sh"},
		{"--begin=never", "good.sh"},
		{"--signal=USR9", "good.sh"},
		{"--mail-type=TIMEOUT", "good.sh"},
		{"--wrap", "true", "extra"},
		{"--gres=gpu:v100:1", "good.sh"},
		{"--gres=nothing:1", "good.sh"},
		{"-N99", "good.sh"},
		{"--mem=9000G", "good.sh"},
		{"--constraint=nosuch", "good.sh"},
		{"--partition=nosuch", "good.sh"},
		{"--account=nosuch", "good.sh"},
		{"--qos=nosuch", "good.sh"},
		{"--reservation=nosuch", "good.sh"},
		{"--nodelist=nosuch1", "good.sh"},
		{"--exclude=nosuch1", "good.sh"},
		{"--gpus=h1000:1", "good.sh"},
		{"--array=3-1", "good.sh"},
		{"--dependency=afterok:29000000", "good.sh"},
		{"--dependency=sometime:1", "good.sh"},
	} {
		t.Run(strings.Join(args, "_"), func(t *testing.T) {
			theirs := at(t, "alpha", "alice", append([]string{"sbatch"}, args...)...)
			ours := login(t, "alice", append([]string{"fsub"}, args...)...)
			if ours.code != theirs.code || !sameWords(mask(ours.stderr), mask(theirs.stderr)) || mask(ours.stdout) != mask(theirs.stdout) {
				t.Errorf("sbatch: exit %d\n%s%sfsub: exit %d\n%s%s", theirs.code, theirs.stdout, theirs.stderr, ours.code, ours.stdout, ours.stderr)
			}
		})
	}
}

// sameWords allows us some more lines than sbatch has, saying what to look at.
func sameWords(ours, theirs string) bool {
	more, ok := strings.CutPrefix(ours, theirs)
	for line := range strings.Lines(more) {
		ok = ok && strings.HasPrefix(line, "sbatch: error: ")
	}
	return ok && strings.Count(more, "\n") <= 8
}

var number = regexp.MustCompile(`job \d+`)

func mask(s string) string { return number.ReplaceAllString(s, "job N") }

// Bad configurations are refused before anything is served.
func TestConfigWords(t *testing.T) {
	world.Need(t)
	dir := t.TempDir()
	loose := filepath.Join(dir, "loose.key")
	if err := os.WriteFile(loose, []byte("0123456789abcdef0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown key":   {"sites:\n  - name: a\n    url: http://x:1\n    key_file: k\n    colour: red\n", []string{"colour", "5"}},
		"loose key":     {"sites:\n  - name: a\n    url: http://x:1\n    key_file: " + loose + "\n", []string{loose, "chmod"}},
		"no key":        {"sites:\n  - name: a\n    url: http://x:1\n", []string{"site a", "key_file"}},
		"two of a name": {"sites:\n  - {name: a, url: 'http://x:1', token_file: t}\n  - {name: a, url: 'http://y:1', token_file: t}\n", []string{"two sites named a"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "fed.yaml")
			own := fmt.Sprintf("state_dir: %[1]s/state\nsocket: %[1]s/sock\n", dir) // not this machine's
			if err := os.WriteFile(path, []byte(c.yaml+own), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, verb := range [][]string{{"config", "check"}, {"serve"}} {
				out := login(t, "root", append(append([]string{"fed"}, verb...), "--config", path)...)
				if out.code != 1 || !strings.Contains("\n"+out.stderr, "\nfed: error: ") { // a store that is made says so before
					t.Errorf("fed %v: exit %d: %s", verb, out.code, out.stderr)
				}
				for _, w := range c.want {
					if !strings.Contains(out.stderr, w) {
						t.Errorf("fed %v does not name %q: %s", verb, w, out.stderr)
					}
				}
			}
		})
	}
}
