package scontrol

import (
	"errors"
	"fmt"
	"io"

	"fsub/cmd/internal/option"
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

var optionSet = option.NewSet("scontrol", []option.Row[options]{
	{Name: "all", Short: 'a', Flag: func(o *options) *bool { return &o.all }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "details", Short: 'd', Flag: func(o *options) *bool { return &o.details }},
	{Name: "federation"},
	{Name: "future", Short: 'F'},
	{Name: "help", Short: 'h', Say: help},
	{Name: "hide"},
	{Name: "json", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json, o.yaml = true, false; return nil }},
	{Name: "local"},
	{Name: "oneliner", Short: 'o', Flag: func(o *options) *bool { return &o.oneLine }},
	{Name: "quiet", Short: 'Q', Flag: func(o *options) *bool { return &o.quiet }},
	{Name: "sibling"},
	{Name: "uid", Short: 'u', Arg: getopt.RequiredArg, Do: func(*options, option.Value) error {
		return errors.New("scontrol: error: fsub's scontrol does not have --uid")
	}},
	{Name: "usage", Say: help},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Say: show.Version + "\n"},
	{Name: "yaml", Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json, o.yaml = true, true; return nil }},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	err := optionSet.Environment(&o, env)
	if err == nil {
		o.words, done, err = optionSet.Parse(&o, args, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, done
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
     cancel_reboot <NodeList> take back reboots that have not begun; administrators only, where the site has a node_command
     errnumstr <ERRNO>        Slurm's sentence for an error number
     hold, uhold <job_list>   keep jobs from starting; IDs, or name=NAME
     listpids [<job_id>[.<step_id>] [<node>]]  your jobs' processes on the node where this is called
     ping                     whether the daemon answers
     reboot [ASAP] [nextstate=RESUME|DOWN] [reason=<TEXT>] ALL|<NodeList>  reboot nodes once they are idle; administrators only,
                              where the site has a node_command
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
