package sinfo

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
}

const (
	optAll = iota
	optClusters
	optDead
	optExact
	optFormat
	optFormat2
	optHelp
	optHelpFormat
	optHelpFormat2
	optHelpState
	optIgnore
	optIterate
	optJSON
	optList
	optLong
	optNode
	optNoHeader
	optPartition
	optResponding
	optSort
	optStates
	optSummary
	optReasons
	optReservation
	optUsage
	optVersion
	optYAML
)

var optionSet = getopt.NewSet("sinfo", []getopt.Option{
	{Name: "all", Short: 'a', ID: optAll},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "dead", Short: 'd', ID: optDead},
	{Name: "exact", Short: 'e', ID: optExact},
	{Name: "federation", ID: optIgnore},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "Format", Short: 'O', Arg: getopt.RequiredArg, ID: optFormat2},
	{Name: "help", ID: optHelp},
	{Name: "helpformat", ID: optHelpFormat},
	{Name: "helpFormat", ID: optHelpFormat2},
	{Name: "helpstate", ID: optHelpState},
	{Name: "hide", ID: optIgnore},
	{Name: "iterate", Short: 'i', Arg: getopt.RequiredArg, ID: optIterate},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "list-reasons", Short: 'R', ID: optReasons},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "noconvert", ID: optIgnore},
	{Name: "Node", Short: 'N', ID: optNode},
	{Name: "nodes", Short: 'n', Arg: getopt.RequiredArg, ID: optList},
	{Name: "noheader", Short: 'h', ID: optNoHeader},
	{Name: "partition", Short: 'p', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "reservation", Short: 'T', ID: optReservation},
	{Name: "responding", Short: 'r', ID: optResponding},
	{Name: "sort", Short: 'S', Arg: getopt.RequiredArg, ID: optSort},
	{Name: "states", Short: 't', Arg: getopt.RequiredArg, ID: optStates},
	{Name: "summarize", Short: 's', ID: optSummary},
	{Name: "usage", ID: optUsage},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optYAML},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	found, _, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"sinfo --help\" for more information\n", err)
		return o, 1, true
	}
	err = o.fromEnv(env)
	allGiven, partGiven := false, false
	o.args = args
	for _, f := range found {
		if printHelp(f.ID, stdout) {
			return o, 0, true
		}
		switch f.ID {
		case optFormat, optFormat2:
			o.format, o.format2 = "", ""
		case optAll:
			allGiven = true
		case optPartition:
			partGiven = true
		}
		if err == nil {
			err = o.set(f)
		}
	}
	if err == nil && allGiven && partGiven {
		err = errors.New("sinfo: error: Conflicting options, -a and -p, specified. Please choose one or the other.")
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, false // words beside the options are nothing to sinfo
}

// printHelp answers the options that only print a text.
func printHelp(id int, stdout io.Writer) bool {
	switch id {
	case optVersion:
		fmt.Fprintln(stdout, show.Version)
	case optHelp:
		io.WriteString(stdout, help)
	case optUsage:
		io.WriteString(stdout, usage)
	case optHelpFormat:
		printLetters(stdout)
	case optHelpFormat2:
		printNames(stdout)
	case optHelpState:
		io.WriteString(stdout, strings.Join(stateWords, "\n")+"\n")
	default:
		return false
	}
	return true
}

// environment are the variables that stand for options. SINFO_ALL needs no value.
var environment = []struct {
	name string
	id   int
}{
	{"SINFO_ALL", optAll}, {"SINFO_FORMAT", optFormat}, {"SINFO_PARTITION", optPartition}, {"SINFO_SORT", optSort}, {"SLURM_CLUSTERS", optClusters},
}

func (o *options) fromEnv(env []string) error {
	for _, e := range environment {
		v := show.Env(env, e.name)
		if v == "" && (e.id != optAll || !slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, e.name+"=") })) {
			continue
		}
		if err := o.set(getopt.Found{Option: &getopt.Option{ID: e.id}, Value: v, Given: true}); err != nil {
			return err
		}
	}
	return nil
}

// set takes one option. Its error is a whole line for stderr.
func (o *options) set(f getopt.Found) error {
	switch f.ID {
	case optAll:
		o.all = true
	case optClusters:
		o.clusters = f.Value
	case optDead:
		o.dead = true
	case optExact:
		o.exact = true
	case optFormat:
		o.format = f.Value
	case optFormat2:
		o.format2 = f.Value
	case optIterate:
		n, err := strconv.Atoi(f.Value)
		if err != nil || n <= 0 {
			return fmt.Errorf("sinfo: error: Error: invalid entry for --iterate=%s", f.Value)
		}
		o.iterate = n
	case optJSON:
		o.json = true
	case optYAML:
		o.yaml = true
	case optList:
		o.nodeList = f.Value
	case optLong:
		o.long = true
	case optNode:
		o.nodes = true
	case optNoHeader:
		o.noHeader = true
	case optPartition:
		o.partitions = show.List(f.Value)
	case optReasons:
		o.reasons = true
	case optReservation:
		o.reservations = true
	case optResponding:
		o.responding = true
	case optSort:
		o.sort = f.Value
	case optStates:
		return o.setStates(f.Value)
	case optSummary:
		o.summary = true
	}
	return nil
}

// setStates reads a list of states; those with & between them must all fit.
func (o *options) setStates(list string) error {
	o.states = nil
	if strings.EqualFold(list, "all") {
		return nil
	}
	for _, item := range show.List(list) {
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
