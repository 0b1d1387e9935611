package sbatch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/sbatch/getopt"
)

func TestFed(t *testing.T) {
	const script = `#!/bin/sh
#FSUB --sites=a,b --max-cost=10 --stage-in="data/*.txt -> in" # what it may cost
#SBATCH -n 2
#FSUB --input=500G@a,aws:us-east-1
#FSUB --input 100@b
#FSUB--fed-exclude-sites c
 #FSUB --bogus
##FSUB --bogus
#FSUB --stage-in=s3://bucket/x?region=eu:1=2
true
#FSUB --bogus
`
	in := input(script, "--fed-accelerators=h100,a100:2", "--fed-stage-out", "out->s3://b/o", "--fed-stage-out=log", "--fed-keep=ck,s/m.pt", "--fed-on-node-loss=Wait:01:00:00")
	in.Env = []string{"FSUB_SITES=d", "FSUB_STAGE_IN=m -> n\nk", "FSUB_GROUP=run-7/prep", "FSUB_SOCKET=/x"}
	r, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	want := &Fed{Sites: []string{"d"}, NotSites: []string{"c"}, Accelerators: []string{"h100", "a100:2"}, MaxCost: 10,
		Inputs:   []Dataset{{Bytes: 500 << 30, At: []string{"a", "aws:us-east-1"}}, {Bytes: 100, At: []string{"b"}}},
		StageIn:  []Stage{{"data/*.txt", "in"}, {"s3://bucket/x?region=eu:1=2", ""}, {"m", "n"}, {"k", ""}},
		StageOut: []Stage{{"out", "s3://b/o"}, {"log", ""}}, Group: "run-7/prep", Keep: []string{"ck", "s/m.pt"}, OnNodeLoss: "wait:01:00:00"}
	if diff := cmp.Diff(want, r.Spec.Fed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again, err := Parse(input("#!/bin/sh\n", r.Spec.Options()...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Spec, again.Spec); diff != "" {
		t.Errorf("written down and read again (-first +again)\n%s", diff)
	}
	// They are asked of the whole job, not of a component.
	r, err = Parse(input("#!/bin/sh\n#SBATCH hetjob\n#FSUB --sites=x\n"))
	if err != nil || r.Spec.Fed == nil || len(r.Spec.Het) != 1 || r.Spec.Het[0].Fed != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFedNamesWithoutPrefix: who writes an option of #FSUB lines on the command line or into #SBATCH is told how it is called there.
func TestFedNamesWithoutPrefix(t *testing.T) {
	const want = "sbatch: error: --retry is for #FSUB lines; on the command line it is --fed-retry"
	for _, c := range []struct{ script, args string }{{"", "--retry=3"}, {"#SBATCH --retry=3", ""}} {
		_, err := Parse(input("#!/bin/sh\n"+c.script+"\n", strings.Fields(c.args)...))
		var exit *Exit
		if !errors.As(err, &exit) || exit.Code != 255 || exit.Stderr[0] != "sbatch: unrecognized option '--retry=3'" || !slices.Contains(exit.Stderr, want) {
			t.Errorf("%s %s: %v", c.script, c.args, err)
		}
	}
}

func TestFedRefusals(t *testing.T) {
	for _, c := range []struct{ script, args, want string }{
		{"", "--fed-site=a", "sbatch: unrecognized option '--fed-site=a'"},
		{"", "--f=a", "sbatch: unrecognized option '--f=a'"},
		{"", "--fed-max-cost=x", `sbatch: error: Invalid --fed-max-cost specification: want US dollars above 0, such as 25.50, got "x"`},
		{"", "--fed-traffic=gossip", `sbatch: error: Invalid --fed-traffic specification: want collective, none, point-to-point, all-to-all, got "gossip"`},
		{"", "--fed-input=500G", `sbatch: error: Invalid --fed-input specification: want a size and where that much data lies, at a site or in a region of a cloud, such as 500G@alpha,aws:us-east-1, got "500G"`},
		{"", "--fed-input=0@alpha", `sbatch: error: Invalid --fed-input specification: want a size and where that much data lies, at a site or in a region of a cloud, such as 500G@alpha,aws:us-east-1, got "0@alpha"`},
		{"", "--fed-max-cost=-1", `sbatch: error: Invalid --fed-max-cost specification: want US dollars above 0, such as 25.50, got "-1"`},
		{"", "--fed-sites=a,", `sbatch: error: Invalid --fed-sites specification: want names separated by commas, got "a,"`},
		{"", "--fed-accelerators=a100:0", `sbatch: error: Invalid --fed-accelerators specification: want TYPE or TYPE:FACTOR with a factor above 0, such as a100:2, got "a100:0"`},
		{"", "--group=", `sbatch: error: Invalid --fed-group specification: want 1 to 128 letters, digits and . _ + : @ / -, the first and the last a letter or a digit, such as sweep-7 or sweep/lr-3, got ""`},
		{"#FSUB --group=none", "", `sbatch: error: Invalid --fed-group specification: "none" stands for jobs without a group`},
		{"", "--grou=a", "sbatch: unrecognized option '--grou=a'"},
		{"", "--fed-stage-in=->x", `sbatch: error: Invalid --fed-stage-in specification: "->x" is not FROM or "FROM -> TO" with paths or URLs`},
		{"#FSUB --bogus", "", "sbatch: error: #FSUB: unrecognized option '--bogus'"},
		{"#FSUB --sites=a b", "", "sbatch: error: Invalid directive found in a #FSUB line: b"},
		{"#FSUB --sites='a", "", "sbatch: fatal: stdin: line 2: Unmatched `'` in [--sites='a]"},
	} {
		_, err := Parse(input("#!/bin/sh\n"+c.script+"\n", strings.Fields(c.args)...))
		var exit *Exit
		if !errors.As(err, &exit) || exit.Stderr[0] != c.want || exit.Code != 255 && !strings.Contains(c.want, "fatal") {
			t.Errorf("%s %s: %v", c.script, c.args, err)
		}
	}
}

func TestPlugins(t *testing.T) {
	plugins := []Plugin{{"container-image", "", getopt.RequiredArg}, {"container-writable", "", getopt.NoArg}, {"view", "", getopt.OptionalArg},
		{"time", "", getopt.RequiredArg}, {"image", "I", getopt.RequiredArg}}
	ask := func(script string, args ...string) (*Request, *Exit) {
		in := input("#!/bin/sh\n"+script+"\n", args...)
		in.Plugins = plugins
		r, err := Parse(in)
		var exit *Exit
		errors.As(err, &exit)
		return r, exit
	}
	r, exit := ask("#SBATCH --container-im=a.sqsh --view -n2", "--container-w", "-Ix", "--container-image", "b", "-t5")
	if exit != nil {
		t.Fatal(exit)
	}
	want := []PluginOption{{"container-image", "b"}, {"container-writable", ""}, {"image", "x"}, {"view", ""}}
	if !slices.Equal(r.Spec.Plugin, want) || r.Spec.NTasks != 2 || r.Spec.TimeLimit == 0 {
		t.Errorf("%+v", r.Spec)
	}
	// As in Slurm they make a prefix ambiguous, and the options of sbatch come first.
	if _, exit = ask("", "--container-i=x"); exit == nil || !strings.HasSuffix(exit.Stderr[0], "possibilities: '--container-id' '--container-image'") {
		t.Errorf("%v", exit)
	}
	for args, unknown := range map[string]bool{"--container-image=x": true, "-I": true, "--time": false, "-nx": false, "--nope": true} {
		_, err := Parse(input("#!/bin/sh\n", args))
		var exit *Exit
		if !errors.As(err, &exit) || exit.Unknown != unknown {
			t.Errorf("%s: %#v", args, exit)
		}
	}
}

func TestByteSize(t *testing.T) {
	const gb = 1 << 30
	for text, want := range map[string]int64{"500G": 500 * gb, "1.5T": 1536 * gb, "2tb": 2048 * gb, "7GiB": 7 * gb, "100": 100, "0": 0, "": 0, "-1G": 0, "G": 0, "1x": 0, "1Gx": 0, "NaN": 0, "9999999P": 0} {
		got, ok := byteSize(text)
		if got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}
