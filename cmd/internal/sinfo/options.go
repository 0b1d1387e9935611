package sinfo

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	args []string // the words of the call

	partitions                               []string
	states                                   []stateTerm // a node is shown if one of them fits
	clusters, format, format2, sort          string
	nodeList                                 string
	iterate                                  int // seconds between listings; 0: one listing
	all, dead, exact, json, long, noHeader   bool
	nodes, reasons, reservations, responding bool
	summary, yaml                            bool
	allGiven, partGiven                      bool // by the command line
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "all", Short: 'a', Help: "hidden partitions too",
		Do: func(o *options, _ option.Value) error { o.all, o.allGiven = true, true; return nil }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "LIST|all", Help: "only these sites, one after the other",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "dead", Short: 'd', Help: "only nodes that do not answer", Flag: func(o *options) *bool { return &o.dead }},
	{Name: "exact", Short: 'e', Help: "a row for each size of node",
		Flag: func(o *options) *bool { return &o.exact }},
	{Name: "federation"},
	{Name: "format", Short: 'o', Value: "FORMAT", Help: `columns by letter, such as "%9P %.6D"; see --helpformat`,
		Env: "SINFO_FORMAT", Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { o.format, o.format2 = v.Text, ""; return nil }},
	{Name: "Format", Short: 'O', Value: "FORMAT", Help: `columns by name, such as "NodeHost:20,StateLong"; see --helpFormat`,
		Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { o.format, o.format2 = "", v.Text; return nil }},
	{Name: "help", Help: "show this help", Tell: true},
	{Name: "helpformat", Help: "show the letters of --format", Print: printLetters},
	{Name: "helpFormat", Help: "show the names of --Format", Print: printNames},
	{Name: "helpstate", Help: "show the states of --states", Print: printStates},
	{Name: "hide"},
	{Name: "iterate", Short: 'i', Value: "SECONDS", Help: "repeat every SECONDS, until interrupted",
		Arg: getopt.RequiredArg, Do: (*options).setIterate},
	{Name: "json", Value: "VERSION", Help: "all that is known of the nodes as JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "list-reasons", Short: 'R', Help: "why nodes are down or drained",
		Flag: func(o *options) *bool { return &o.reasons }},
	{Name: "local"},
	{Name: "long", Short: 'l', Help: "longer lines", Flag: func(o *options) *bool { return &o.long }},
	{Name: "noconvert"},
	{Name: "Node", Short: 'N', Help: "one row for each node and partition",
		Flag: func(o *options) *bool { return &o.nodes }},
	{Name: "nodes", Short: 'n', Value: "NODES", Help: "only these nodes",
		Text: func(o *options) *string { return &o.nodeList }},
	{Name: "noheader", Short: 'h', Help: "no line above the rows", Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "partition", Short: 'p', Value: "LIST", Help: "only these partitions",
		Env: "SINFO_PARTITION", Arg: getopt.RequiredArg, Do: (*options).setPartitions},
	{Name: "reservation", Short: 'T', Help: "the reservations",
		Flag: func(o *options) *bool { return &o.reservations }},
	{Name: "responding", Short: 'r', Help: "only nodes that answer",
		Flag: func(o *options) *bool { return &o.responding }},
	{Name: "sort", Short: 'S', Value: "FIELDS", Help: "order of the rows: letters of --format, - in front of one for descending",
		Env: "SINFO_SORT", Text: func(o *options) *string { return &o.sort }},
	{Name: "states", Short: 't', Value: "LIST", Help: "only nodes in these states; see --helpstate",
		Arg: getopt.RequiredArg, Do: (*options).setStates},
	{Name: "summarize", Short: 's', Help: "one row for each partition",
		Flag: func(o *options) *bool { return &o.summary }},
	{Name: "usage", Help: "show how sinfo is called", Say: usage},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sinfo this is", Say: show.Version + "\n"},
	{Name: "yaml", Value: "VERSION", Help: "the same as --json, in YAML",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	o.args = args
	err := o.fromEnv(env)
	if err == nil {
		_, done, err = optionSet.Parse(&o, args, stdout) // words beside the options are nothing to sinfo
	}
	switch {
	case done:
		return o, 0, true
	case err == nil && o.allGiven && o.partGiven:
		err = errors.New("sinfo: error: Conflicting options, -a and -p, specified. Please choose one or the other.")
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, false
}

// fromEnv takes what the environment asks for. It asks for nothing that contradicts the command
// line. SINFO_ALL needs no value.
func (o *options) fromEnv(env []string) error {
	err := optionSet.Environment(o, env)
	o.all = slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, "SINFO_ALL=") })
	o.allGiven, o.partGiven = false, false
	return err
}

func printStates(_ *options, _ option.Value, w io.Writer) bool {
	io.WriteString(w, strings.Join(stateWords, "\n")+"\n")
	return true
}

func (o *options) setIterate(v option.Value) error {
	n, err := strconv.Atoi(v.Text)
	if err != nil || n <= 0 {
		return fmt.Errorf("sinfo: error: Error: invalid entry for --iterate=%s", v.Text)
	}
	o.iterate = n
	return nil
}

func (o *options) setPartitions(v option.Value) error {
	o.partitions, o.partGiven = show.List(v.Text), true
	return nil
}

// setStates reads a list of states; those with & between them must all fit.
func (o *options) setStates(v option.Value) error {
	o.states = nil
	if strings.EqualFold(v.Text, "all") {
		return nil
	}
	for _, item := range show.List(v.Text) {
		var term stateTerm
		for word := range strings.SplitSeq(item, "&") {
			s := knownState(word)
			if s == "" {
				return fmt.Errorf("sinfo: error: Bad state string: \"%s\"\nsinfo: error: valid states: %s", word, strings.Join(stateWords, ","))
			}
			term = append(term, s)
		}
		o.states = append(o.states, term)
	}
	return nil
}

const usage = `Usage: sinfo [-adehlNRrsTV] [-i seconds] [-M clusters] [-n nodes] [-o format] [-O format] [-p partitions] [-S fields]
             [-t states] [--json] [--yaml] [--noconvert] [--usage]
`

var about = option.About{
	Name:  "sinfo",
	Does:  "show the partitions and nodes of all sites of the federation",
	Usage: []string{"sinfo [OPTIONS]"},
	Text:  "Shows the partitions and nodes of all sites of the federation, as one cluster; with --clusters one site after the other.",
}

// About describes sinfo.
func About() option.About { return optionSet.About() }
