package getopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testSet = NewSet("cmd", []Option{
	{"nodes", 'N', RequiredArg, 1},
	{"ntasks", 'n', RequiredArg, 2},
	{"ntasks-per-node", 0, RequiredArg, 3},
	{"tasks-per-node", 0, RequiredArg, 3},
	{"time", 't', RequiredArg, 4},
	{"time-min", 0, RequiredArg, 5},
	{"hold", 'H', NoArg, 6},
	{"nice", 0, OptionalArg, 7},
	{"no-kill", 'k', OptionalArg, 8},
	{"cluster", 0, RequiredArg, 9},
	{"clusters", 'M', RequiredArg, 9},
})

// render writes what Parse returned in one line: options, a bar, operands, or the error.
func render(found []Found, operands []string, err error) string {
	var words []string
	for _, f := range found {
		w := f.Name
		if f.Given {
			w += "=" + f.Value
		}
		words = append(words, w)
	}
	words = append(words, "|")
	words = append(words, operands...)
	if err != nil {
		words = append(words, "! "+err.Error())
	}
	return strings.Join(words, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		args string
		want string
	}{
		{Permute, "-N2 a -t 5 b --hold", "nodes=2 time=5 hold | a b"},
		{StopAtFirst, "-N2 a -t 5", "nodes=2 | a -t 5"},
		{Permute, "-N 2 -- -t 5", "nodes=2 | -t 5"},
		{Permute, "a -- -t", "| a -t"},
		{Permute, "- -H", "hold | -"},
		{Permute, "-HN2", "hold nodes=2 |"},
		{Permute, "-HN 2", "hold nodes=2 |"},
		{Permute, "-t=10", "time==10 |"},
		{Permute, "--time=a=b", "time=a=b |"},
		{Permute, "--time -5", "time=-5 |"},
		{Permute, "--time --hold", "time=--hold |"},
		{Permute, "--nice 5", "nice | 5"},
		{Permute, "--nice=5 --nice=", "nice=5 nice= |"},
		{Permute, "-k 5 -kno", "no-kill no-kill=no | 5"},
		{Permute, "--tasks=4", "tasks-per-node=4 |"},
		{Permute, "--clu a", "cluster=a |"},
		{Permute, "--ho", "hold |"},
		{Permute, "--time=1 --ti=5", "time=1 | ! cmd: option '--ti=5' is ambiguous; possibilities: '--time' '--time-min'"},
		{Permute, "--n 3", "| ! cmd: option '--n' is ambiguous; possibilities: '--nodes' '--ntasks' '--ntasks-per-node' '--nice' '--no-kill'"},
		{Permute, "--bogus=1", "| ! cmd: unrecognized option '--bogus=1'"},
		{Permute, "-Hx", "hold | ! cmd: invalid option -- 'x'"},
		{Permute, "--hold=1", "| ! cmd: option '--hold' doesn't allow an argument"},
		{Permute, "--ho=1", "| ! cmd: option '--hold' doesn't allow an argument"},
		{Permute, "a --time", "| a ! cmd: option '--time' requires an argument"},
		{Permute, "-Ht", "hold | ! cmd: option requires an argument -- 't'"},
	} {
		if got := render(testSet.Parse(strings.Fields(c.args), c.mode)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestEmptyWordIsAnOperand(t *testing.T) {
	_, operands, err := testSet.Parse([]string{"", "-H", ""}, Permute)
	if err != nil || !cmp.Equal(operands, []string{"", ""}) {
		t.Fatalf("operands %q, err %v", operands, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-N2 a -t 5 b --hold -- -x")
	f.Add("--ti=5 -k --nice= -")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		found, operands, err := testSet.Parse(args, Permute)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cmd: ") {
				t.Fatalf("error %q does not begin with the command", err)
			}
			return
		}
		// Written out in canonical form, the same options come back.
		var again []string
		for _, o := range found {
			w := "--" + o.Name
			if o.Given {
				w += "=" + o.Value
			}
			again = append(again, w)
		}
		again = append(append(again, "--"), operands...)
		found2, operands2, err := testSet.Parse(again, Permute)
		want, got := render(found, operands, nil), render(found2, operands2, err)
		if got != want {
			t.Fatalf("%q\n got %s\nwant %s", line, got, want)
		}
	})
}
