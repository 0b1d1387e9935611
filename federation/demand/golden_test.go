package demand

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/sbatch"
)

// exceptions are calls of which a slurmctld 24.11 shows something else than it gives, or knows more than a Demand.
var exceptions = map[string]string{
	"--gres=gpu:2,gpu:1":                      "ReqTRES has the larger of two counts, nodes give the later",
	"--gres=fpga:2,gpu:2,fpga:1":              "ReqTRES has the larger of two counts, nodes give the later",
	"--gpus-per-node=4 --gpus-per-task=2 -n4": "ReqTRES has one node where NumNodes is 2",
	"--gres=gpu:2 --gpus-per-task=1 -n4":      "ReqTRES has one node where NumNodes is 2",
	"--gpus-per-task=h100 -n2":                "sbatch drops a type without a count",
	"--gpus-per-task=two -n2":                 "sbatch drops a type without a count",
	"--gpus-per-task=1k -n2":                  "sbatch knows no suffix here",
	"--gpus-per-task=a:1,b:1 -n2":             "sbatch drops all types but the first",
	"--gpus=h100:2 --gpus-per-task=1":         "we say that the types are mixed",
	"--gpus=2 --gpus-per-task=h100:1":         "we say that the types are mixed",
	"-C h100*0":                               "left to the site",
	"-C ((h100))":                             "left to the site",
	"-C h100*2|ib":                            "22.05 takes it",
	"-C [h100&ib]":                            "left to the site",
	"-C [[h100|ib]]":                          "left to the site",
	"-C ([h100|ib])":                          "22.05 takes it",
	"-C [(h100&ib)*2|ib] -N2":                 "left to the site",
	"--mem=0":                                 "how much all of a node is the site knows",
}

// named are what a site of the table has: other names are the site's to refuse.
var named = regexp.MustCompile(`nosuch|GPU:|gres:gpu|license/|gpu/h100|h100=1$`)

const defMem = 1000 // MiB for each CPU, at the sites of the table

// TestRecorded compares what demands add up to with what a real slurmctld 24.11 says of the same calls. It was written down by
// testbed/demand, whose test asks again.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/slurm-24.11")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		options, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if exceptions[options] != "" {
			continue
		}
		spec, refusal := parse(options)
		if said, refused := strings.CutPrefix(want, "refused: "); refused {
			said = strings.ReplaceAll(strings.ReplaceAll(said, "sbatch: error: ", ""), "Batch job submission failed: ", "")
			if refusal == "" && named.MatchString(options) {
				continue
			}
			if got := strings.ReplaceAll(refusal, "sbatch: error: ", ""); got != said {
				t.Errorf("%s\nrefused with %q\nwant         %q", options, got, said)
			}
			continue
		}
		if refusal != "" {
			t.Errorf("%s\nrefused with %q\nwant %s", options, refusal, want)
			continue
		}
		tres := regexp.MustCompile(`ReqTRES=(\S+)`).FindStringSubmatch(want)[1]
		if got, want := sizes(Of(&spec).Size(0)), recordedSizes(t, tres); !maps.Equal(got, want) {
			t.Errorf("%s\ngot  %v\nwant %v", options, got, want)
		}
	}
}

// parse reads a call, and why it is refused.
func parse(options string) (sbatch.Spec, string) {
	r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(options), "--wrap", "true"), Dir: "/tmp", Now: time.Unix(1e9, 0), Slurm: sbatch.Slurm2411})
	var exit *sbatch.Exit
	if errors.As(err, &exit) {
		return sbatch.Spec{}, strings.Join(exit.Stderr, " / ")
	}
	if err != nil {
		return sbatch.Spec{}, err.Error()
	}
	d := Of(&r.Spec)
	if err := d.Refused(); err != nil {
		return r.Spec, err.Error()
	}
	if said := d.RefusedGPUs(); said != "" {
		return r.Spec, said + " / Invalid generic resource (gres) specification"
	}
	return r.Spec, ""
}

// sizes are the counts that ReqTRES has, those of types that accounting knows included.
func sizes(z Size) map[string]int {
	out := map[string]int{"cpu": z.CPUs, "node": z.Nodes, "mem": int(z.Mem)}
	if z.Mem == 0 {
		out["mem"] = defMem * z.CPUs
	}
	for _, g := range z.GRES {
		out["gres/"+g.Name] += g.Count
		switch g.Name + ":" + g.Type {
		case "gpu:h100", "tpu:v5p", "nic:a", "nic:b":
			out["gres/"+g.String()] += g.Count
		}
	}
	return out
}

func recordedSizes(t *testing.T, tres string) map[string]int {
	out := map[string]int{}
	for item := range strings.SplitSeq(tres, ",") {
		name, value, _ := strings.Cut(item, "=")
		factor := 1.0
		if name == "mem" {
			factor = map[byte]float64{'M': 1, 'G': 1024}[value[len(value)-1]]
			value = value[:len(value)-1]
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		if name != "billing" {
			out[name] = int(n * factor)
		}
	}
	return out
}

func Example() {
	d := Of(&sbatch.Spec{MinNodes: 2, MaxNodes: 2, GRES: "tpu:v5p:4,fpga", NTasksPerNode: 2})
	z := d.Size(0)
	fmt.Println(z.Nodes, z.Tasks, z.CPUs, z.GRES)
	// Output: 2 4 4 [tpu:v5p fpga]
}
