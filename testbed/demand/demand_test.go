package demand

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var update = flag.Bool("update", false, "write down what Slurm says")

// sites are one of each Slurm version.
var sites = []struct{ site, version string }{{"alpha", "24.11"}, {"delta", "22.05"}, {"gamma", "26.05"}}

var world suite.Suite

func TestMain(m *testing.M) {
	var names []string
	for _, s := range sites {
		names = append(names, s.site)
	}
	world.Main(m, suite.Config{Name: "demand", Sites: names, Lends: true,
		Bed: bed.Options{GRES: []string{"tpu:v5p:4", "fpga::2", "nic:a:2", "nic:b:2"}}})
}

// script asks for each line of its input and prints what became of it: the job's record, or what sbatch said.
const script = `set -f
while IFS= read -r options; do
	if id=$(sbatch --parsable -H -D / $options --wrap true 2>/tmp/demand.said); then
		echo "$options => $(scontrol show job -o "$id")"
		scancel "$id"
	else
		echo "$options => refused: $(tr '\n' '\f' </tmp/demand.said)"
	fi
done`

// Types are called as at alpha, wherever they are.
var types = strings.NewReplacer("h200", "h100", "v100", "h100")

const recorded = "../../federation/demand/testdata"

// TestRecorded tries each call of the table at a slurmctld of each version.
func TestRecorded(t *testing.T) {
	world.Need(t)
	calls, err := os.ReadFile(filepath.Join(recorded, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		t.Run(s.version, func(t *testing.T) {
			got := ask(t, s.site, string(calls))
			file := filepath.Join(recorded, "slurm-"+s.version)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wants, gots := strings.Split(string(want), "\n"), strings.Split(got, "\n")
			for i := range min(len(wants), len(gots)) {
				if wants[i] != gots[i] {
					t.Errorf("\nwritten down %s\nnow          %s", wants[i], gots[i])
				}
			}
			if len(wants) != len(gots) {
				t.Errorf("%d lines are written down, now there are %d", len(wants), len(gots))
			}
		})
	}
}

func ask(t *testing.T, site, calls string) string {
	t.Helper()
	i := slices.IndexFunc(bed.Sites, func(s bed.Site) bool { return s.Name == site })
	own := strings.ReplaceAll(calls, "h100", bed.Sites[i].GPUType)
	var stdout, stderr bytes.Buffer
	err := world.Bed.Exec(context.WithoutCancel(t.Context()), bed.Cmd{Site: site, User: "alice", Dir: "/tmp", Args: []string{"bash", "-c", script},
		Stdin: strings.NewReader(own), Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var out strings.Builder
	for line := range strings.Lines(stdout.String()) {
		out.WriteString(types.Replace(summary(strings.TrimSpace(line))) + "\n")
	}
	return out.String()
}

var field = regexp.MustCompile(`(?:^| )(NumNodes|NumCPUs|NumTasks|CPUs/Task|NtasksPerN:B:S:C|TRES|ReqTRES|MinCPUsNode|MinMemoryNode|MinMemoryCPU|TresPerNode|TresPerJob|TresPerTask|TresPerSocket|MemPerTres|CpusPerTres|Features)=(\S*)`)

// summary is what counts of a line of script.
func summary(line string) string {
	options, record, _ := strings.Cut(line, " => ")
	if said, refused := strings.CutPrefix(record, "refused: "); refused {
		return options + " => refused: " + strings.TrimSuffix(strings.ReplaceAll(said, "\f", " / "), " / ")
	}
	var words []string
	for _, m := range field.FindAllStringSubmatch(record, -1) {
		words = append(words, m[1]+"="+m[2])
	}
	return options + " => " + strings.Join(words, " ")
}
