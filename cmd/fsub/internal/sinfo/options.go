package sinfo

import (
	"fmt"
	"io"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for.
type options struct {
	partitions, states, sites         []string
	clusters, format, format2, sort   string
	nodeList                          string
	dead, json, long, noHeader, nodes bool
	reasons, responding, summary      bool
}

const (
	optClusters = iota
	optDead
	optFormat
	optFormat2
	optHelp
	optIgnore
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
	optUnsupported
	optUsage
	optVersion
)

var optionSet = getopt.NewSet("sinfo", []getopt.Option{
	{Name: "all", Short: 'a', ID: optIgnore},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "dead", Short: 'd', ID: optDead},
	{Name: "exact", Short: 'e', ID: optIgnore},
	{Name: "federation", ID: optIgnore},
	{Name: "format", Short: 'o', Arg: getopt.RequiredArg, ID: optFormat},
	{Name: "Format", Short: 'O', Arg: getopt.RequiredArg, ID: optFormat2},
	{Name: "help", ID: optHelp},
	{Name: "hide", ID: optIgnore},
	{Name: "iterate", Short: 'i', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "list-reasons", Short: 'R', ID: optReasons},
	{Name: "local", ID: optIgnore},
	{Name: "long", Short: 'l', ID: optLong},
	{Name: "noconvert", ID: optIgnore},
	{Name: "Node", Short: 'N', ID: optNode},
	{Name: "nodes", Short: 'n', Arg: getopt.RequiredArg, ID: optList},
	{Name: "noheader", Short: 'h', ID: optNoHeader},
	{Name: "partition", Short: 'p', Arg: getopt.RequiredArg, ID: optPartition},
	{Name: "reservation", Short: 'T', ID: optUnsupported},
	{Name: "responding", Short: 'r', ID: optResponding},
	{Name: "sort", Short: 'S', Arg: getopt.RequiredArg, ID: optSort},
	{Name: "states", Short: 't', Arg: getopt.RequiredArg, ID: optStates},
	{Name: "summarize", Short: 's', ID: optSummary},
	{Name: "usage", ID: optUsage},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optUnsupported},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	found, operands, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"sinfo --help\" for more information\n", err)
		return o, 1, true
	}
	err = o.fromEnv(env)
	for _, f := range found {
		switch f.ID {
		case optVersion:
			fmt.Fprintln(stdout, show.Version)
			return o, 0, true
		case optHelp:
			io.WriteString(stdout, help)
			return o, 0, true
		case optUsage:
			io.WriteString(stdout, usage)
			return o, 0, true
		case optUnsupported:
			err = fmt.Errorf("sinfo: error: fsub's sinfo does not have --%s yet", f.Name)
		case optFormat, optFormat2:
			o.format, o.format2 = "", ""
		}
		if err == nil {
			err = o.set(f)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	if len(operands) > 0 {
		fmt.Fprintf(stderr, "sinfo: error: Unrecognized option: %s\n", operands[0])
		io.WriteString(stdout, usage)
		return o, 1, true
	}
	return o, 0, false
}

func (o *options) fromEnv(env []string) error {
	for name, id := range map[string]int{
		"SINFO_FORMAT": optFormat, "SINFO_PARTITION": optPartition, "SINFO_SORT": optSort, "SLURM_CLUSTERS": optClusters,
	} {
		if v := show.Env(env, name); v != "" {
			if err := o.set(getopt.Found{Option: &getopt.Option{ID: id}, Value: v, Given: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// set takes one option. Its error is a whole line for stderr.
func (o *options) set(f getopt.Found) error {
	switch f.ID {
	case optClusters:
		o.clusters, o.sites = f.Value, show.List(f.Value)
	case optDead:
		o.dead = true
	case optFormat:
		o.format = f.Value
	case optFormat2:
		o.format2 = f.Value
	case optJSON:
		o.json = true
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

func (o *options) setStates(list string) error {
	if strings.EqualFold(list, "all") {
		return nil
	}
	for _, word := range show.List(list) {
		long := knownState(word)
		if long == "" {
			var all []string
			for _, s := range nodeStates {
				all = append(all, s.long)
			}
			return fmt.Errorf("sinfo: error: Bad state string: \"%s\"\nsinfo: error: Valid node states are: %s", word, strings.Join(all, ","))
		}
		o.states = append(o.states, long)
	}
	return nil
}

const usage = `Usage: sinfo [-adehlNRrsV] [-M clusters] [-n nodes] [-o format] [-O format] [-p partitions] [-S fields] [-t states]
             [--json] [--noconvert] [--usage]
`

const help = `Usage: sinfo [OPTIONS]
Shows the partitions and nodes of all sites of the federation.

  -a, --all                 taken as in Slurm
  -d, --dead                only nodes that do not answer
  -e, --exact               taken as in Slurm
  -h, --noheader            no line above the rows
      --json                for programs
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
  -t, --states=LIST         only nodes in these states
  -V, --version             the version
`
