package scontrol

import (
	"fmt"
	"io"

	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for, beside the verb.
type options struct {
	words    []string
	all      bool
	details  bool
	oneLine  bool
	quiet    bool
	json     bool // or YAML
	yaml     bool
	clusters string
}

const (
	optIgnore = iota
	optAll
	optDetails
	optHelp
	optJSON
	optClusters
	optOneLine
	optQuiet
	optVersion
	optYAML
	optUnsupported
)

var optionSet = getopt.NewSet("scontrol", []getopt.Option{
	{Name: "all", Short: 'a', ID: optAll},
	{Name: "cluster", Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "clusters", Short: 'M', Arg: getopt.RequiredArg, ID: optClusters},
	{Name: "details", Short: 'd', ID: optDetails},
	{Name: "federation", ID: optIgnore},
	{Name: "future", Short: 'F', ID: optIgnore},
	{Name: "help", Short: 'h', ID: optHelp},
	{Name: "hide", ID: optIgnore},
	{Name: "json", Arg: getopt.OptionalArg, ID: optJSON},
	{Name: "local", ID: optIgnore},
	{Name: "oneliner", Short: 'o', ID: optOneLine},
	{Name: "quiet", Short: 'Q', ID: optQuiet},
	{Name: "sibling", ID: optIgnore},
	{Name: "uid", Short: 'u', Arg: getopt.RequiredArg, ID: optUnsupported},
	{Name: "usage", ID: optHelp},
	{Name: "verbose", Short: 'v', ID: optIgnore},
	{Name: "version", Short: 'V', ID: optVersion},
	{Name: "yaml", Arg: getopt.OptionalArg, ID: optYAML},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	o.clusters = show.Env(env, "SLURM_CLUSTERS")
	found, words, err := optionSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"scontrol --help\" for more information\n", err)
		return o, 1, true
	}
	o.words = words
	for _, f := range found {
		switch f.ID {
		case optAll:
			o.all = true
		case optDetails:
			o.details = true
		case optJSON:
			o.json, o.yaml = true, false
		case optYAML:
			o.json, o.yaml = true, true
		case optClusters:
			o.clusters = f.Value
		case optOneLine:
			o.oneLine = true
		case optQuiet:
			o.quiet = true
		case optHelp:
			io.WriteString(stdout, help)
			return o, 0, true
		case optVersion:
			fmt.Fprintln(stdout, show.Version)
			return o, 0, true
		case optUnsupported:
			fmt.Fprintf(stderr, "scontrol: error: fsub's scontrol does not have --%s\n", f.Name)
			return o, 1, true
		}
	}
	return o, 0, false
}

const help = `scontrol [<OPTION>] [<COMMAND>]
    Valid <OPTION> values are:
     -a, --all      also show hidden partitions
     -d, --details  show more of each job
     --json, --yaml write JSON, YAML
     -M, --clusters=NAME  only this site
     -o, --oneliner one line for each record
     -Q, --quiet    say nothing of what failed
     -V, --version  the version

    Valid <COMMAND> values are:
     errnumstr <ERRNO>        Slurm's sentence for an error number
     hold, uhold <job_list>   keep jobs from starting; IDs, or name=NAME
     listpids [<job_id>[.<step_id>] [<node>]]  your jobs' processes on the node where this is called
     ping                     whether the daemon answers
     release <job_list>       let held jobs start
     requeue [Incomplete] <job_list>  stop jobs and put them back into the queue; not those that have ended
     requeuehold [Incomplete] [State=SpecialExit] <job_list>  the same, and hold them, in that state
     show <ENTITY> [<ID>]     config, hostlist, hostlistsorted, hostnames, job, licenses, node, partition, reservation, step,
                              topology
     suspend, resume <job_list>  operators only, where the site can
     top <job_list>           put jobs first among their user's; operators only
     update JobId=<job_list> <KEY>=<VALUE>...  change jobs; JobName=<name> instead of JobId
     version                  the version
     wait_job <job_id>        wait until the nodes of the job are ready
     write batch_script <job_id> [<FILE>|-]  write the script of a job to a file, slurm-<job_id>.sh by default

  Words and options may be cut short. Without a command they are read from standard input.
`
