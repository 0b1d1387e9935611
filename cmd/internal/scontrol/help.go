package scontrol

import (
	"strings"

	"fsub/cmd/internal/option"
	"fsub/sbatch/getopt"
)

var about = option.About{
	Name:  "scontrol",
	Does:  "show and change jobs, and show sites, of the federation",
	Usage: []string{"scontrol [OPTIONS] [COMMAND]"},
	Text: "Shows what the federation knows of jobs, nodes, partitions and itself, and changes jobs. Commands and options may be cut short. " +
		"Without a command they are read from standard input.",
	Words: []getopt.Group{{Title: "Commands", Options: commands}},
	Notes: "Commands that would change a site itself are refused: root is told to run them there, or which fed command does it here.",
}

// commands are the verbs that do something, in the order of the alphabet. A test holds that none is missing.
var commands = []getopt.Described{
	{Value: "cancel_reboot NODELIST", Help: "take back reboots that have not begun; administrators only, where the site has a node_command"},
	{Value: "errnumstr ERRNO", Help: "Slurm's sentence for an error number"},
	{Value: "help", Help: "show this help"},
	{Value: "hold, uhold JOBS", Help: "keep jobs from starting; IDs, or name=NAME"},
	{Value: "listpids [JOB[.STEP] [NODE]]", Help: "the processes of your jobs on the node where this is called"},
	{Value: "ping", Help: "whether the daemon answers"},
	{Value: "reboot [ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODELIST",
		Help: "reboot nodes once they are idle; administrators only, where the site has a node_command"},
	{Value: "release JOBS", Help: "let held jobs start"},
	{Value: "requeue [Incomplete] JOBS", Help: "stop jobs and put them back into the queue; not those that have ended"},
	{Value: "requeuehold [Incomplete] [State=SpecialExit] JOBS", Help: "requeue jobs, and hold them in that state"},
	{Value: "resume JOBS", Help: "let suspended jobs go on; operators only, where the site can"},
	{Value: "show ENTITY [ID]",
		Help: "config, hostlist, hostlistsorted, hostnames, job, licenses, node, partition, reservation, step or topology"},
	{Value: "suspend JOBS", Help: "stop running jobs for a while; operators only, where the site can"},
	{Value: "top JOBS", Help: "put jobs first among those of their user; operators only"},
	{Value: "update JobId=JOBS KEY=VALUE...", Help: "change jobs; JobName=NAME instead of JobId"},
	{Value: "version", Help: "show the version of Slurm whose scontrol this is"},
	{Value: "wait_job JOB", Help: "wait until the nodes of the job are ready"},
	{Value: "write batch_script JOB [FILE|-]", Help: "write the script of a job to a file, slurm-JOB.sh by default"},
}

// About describes scontrol.
func About() option.About { return optionSet.About() }

// Operands is the kind of the word that may follow others, for a shell's completion: jobs, nodes, partitions, or words behind "=".
func Operands(before []string) string {
	if len(before) == 0 {
		var verbs []string
		for _, c := range commands {
			word, _, _ := strings.Cut(c.Value, " ")
			verbs = append(verbs, strings.TrimSuffix(word, ","))
		}
		return "=" + strings.Join(append(verbs, "uhold"), " ")
	}
	switch last := before[len(before)-1]; {
	case before[0] == "show" && len(before) == 1:
		return "=config hostlist hostlistsorted hostnames job licenses node partition reservation step topology"
	case before[0] == "show" && last == "node", before[0] == "reboot", before[0] == "cancel_reboot":
		return "nodes"
	case before[0] == "show" && last == "partition":
		return "partitions"
	case before[0] == "show" && last == "reservation":
		return "reservations"
	case before[0] == "write" && len(before) == 1:
		return "=batch_script"
	case before[0] == "show" && last != "job", before[0] == "errnumstr", before[0] == "ping":
		return ""
	}
	return "own-jobs"
}
