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

var optionSet = option.NewSet("sinfo", []option.Row[options]{
	{Name: "all", Short: 'a', Do: func(o *options, _ option.Value) error { o.all, o.allGiven = true, true; return nil }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "dead", Short: 'd', Flag: func(o *options) *bool { return &o.dead }},
	{Name: "exact", Short: 'e', Flag: func(o *options) *bool { return &o.exact }},
	{Name: "federation"},
	{Name: "format", Short: 'o', Env: "SINFO_FORMAT", Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { o.format, o.format2 = v.Text, ""; return nil }},
	{Name: "Format", Short: 'O', Arg: getopt.RequiredArg, Do: func(o *options, v option.Value) error { o.format, o.format2 = "", v.Text; return nil }},
	{Name: "help", Say: help},
	{Name: "helpformat", Print: printLetters},
	{Name: "helpFormat", Print: printNames},
	{Name: "helpstate", Print: printStates},
	{Name: "hide"},
	{Name: "iterate", Short: 'i', Arg: getopt.RequiredArg, Do: (*options).setIterate},
	{Name: "json", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "list-reasons", Short: 'R', Flag: func(o *options) *bool { return &o.reasons }},
	{Name: "local"},
	{Name: "long", Short: 'l', Flag: func(o *options) *bool { return &o.long }},
	{Name: "noconvert"},
	{Name: "Node", Short: 'N', Flag: func(o *options) *bool { return &o.nodes }},
	{Name: "nodes", Short: 'n', Text: func(o *options) *string { return &o.nodeList }},
	{Name: "noheader", Short: 'h', Flag: func(o *options) *bool { return &o.noHeader }},
	{Name: "partition", Short: 'p', Env: "SINFO_PARTITION", Arg: getopt.RequiredArg, Do: (*options).setPartitions},
	{Name: "reservation", Short: 'T', Flag: func(o *options) *bool { return &o.reservations }},
	{Name: "responding", Short: 'r', Flag: func(o *options) *bool { return &o.responding }},
	{Name: "sort", Short: 'S', Env: "SINFO_SORT", Text: func(o *options) *string { return &o.sort }},
	{Name: "states", Short: 't', Arg: getopt.RequiredArg, Do: (*options).setStates},
	{Name: "summarize", Short: 's', Flag: func(o *options) *bool { return &o.summary }},
	{Name: "usage", Say: usage},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Say: show.Version + "\n"},
	{Name: "yaml", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
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

const help = `Usage: sinfo [OPTIONS]
Shows the partitions and nodes of all sites of the federation.

  -a, --all                 hidden partitions too
  -d, --dead                only nodes that do not answer
  -e, --exact               nodes that differ in size have rows of their own
  -h, --noheader            no line above the rows
      --helpformat          the letters of --format; --helpFormat: the names of --Format
      --helpstate           the states of --states
  -i, --iterate=SECONDS     again and again
      --json, --yaml        for programs
  -l, --long                longer lines
  -M, --clusters=LIST       only these sites
  -N, --Node                one row for each node and partition
  -n, --nodes=LIST          only these nodes
  -o, --format=FORMAT       columns by letter: "%9P %.6D"
  -O, --Format=FORMAT       columns by name: "NodeHost:20,StateLong"
  -p, --partition=LIST      only these partitions
  -R, --list-reasons        why nodes are down or drained
  -r, --responding          only nodes that answer
  -S, --sort=FIELDS         order of the rows: letters of --format, - for descending
  -s, --summarize           one row for each partition
  -T, --reservation         the reservations
  -t, --states=LIST         only nodes in these states
  -V, --version             the version
`
