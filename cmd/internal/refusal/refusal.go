// Package refusal is the commands of Slurm that give way to a site's own within a job: srun, salloc, sbcast, sattach, strigger and scrontab. Elsewhere there is nothing that
// they could do, and one sentence says what to do instead; but for srun and salloc on a login node, which packages srun and salloc are.
package refusal

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// instead says what to do where the federation does not have the command.
var instead = map[string]string{
	"srun":   "the federation runs batch jobs: put the command into a script (srun works there) and submit it with sbatch, or use sbatch --wrap",
	"salloc": "the federation runs batch jobs: put the command into a script (srun works there) and submit it with sbatch, or use sbatch --wrap",
	"sbcast": "it copies files to the nodes of the job that it is called in: call it in the script; for files that a job needs see --fed-input of sbatch",
	"sattach": "the federation does not connect terminals to steps: follow a job's output with fed logs -f JOB, and look at its processes with " +
		"srun --jobid=JOB --overlap within the job",
	"strigger": "the federation has no triggers: see what happens with fed events -f, and wait for a job with sbatch --wait or --dependency",
	"scrontab": "the federation has no tables of jobs to be repeated: let cron call sbatch, or let a job's script end with: sbatch --begin=now+1day \"$0\"",
}

// Names are the commands that this package is, in order.
var Names = []string{"srun", "salloc", "sbcast", "sattach", "strigger", "scrontab"}

// About describes the command name, one of Names, as it is outside of jobs.
func About(name string) option.About {
	return option.About{Name: name, Does: "the site's own within a job, and not here", Usage: []string{name + " [OPTIONS]"},
		Text: "Within a job this is the site's own " + name + ". Elsewhere " + instead[name] + ".",
		Groups: []getopt.Group{{Title: "Options outside of jobs", Options: []getopt.Described{
			{Option: getopt.Option{Name: "help", Short: 'h'}, Help: "show this help"},
			{Option: getopt.Option{Name: "usage"}, Help: "show this help"},
			{Option: getopt.Option{Name: "version", Short: 'V'}, Help: "show the version of Slurm whose " + name + " this is"},
		}}}}
}

// Main is the command name, one of Names. Within a job it does not return: the process becomes
// the site's command.
func Main(name string, args, env []string, stdout, stderr io.Writer) int {
	inside := show.Env(env, "SLURM_JOB_ID") != ""
	next := After(name, env)
	if inside {
		next = Own(name, env)
	}
	switch {
	case inside && next != "":
		err := syscall.Exec(next, append([]string{name}, args...), env)
		fmt.Fprintf(stderr, "%s: error: %s: %s\n", name, next, err)
		return 1
	case inside:
		fmt.Fprintf(stderr, "%s: error: this job's site has no %s in PATH beside the federation's\n", name, name)
		return 1
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-V"):
		fmt.Fprintln(stdout, show.Version)
		return 0
	case len(args) == 1 && (args[0] == "--help" || args[0] == "--usage" || args[0] == "-h" && name != "srun" && name != "salloc"):
		about := About(name)
		io.WriteString(stdout, about.Help())
		return 0
	}
	own := ""
	if next != "" {
		own = "; for this machine's own cluster run " + next
	}
	fmt.Fprintf(stderr, "%s: error: %s%s\n", name, instead[name], own)
	return 1
}

// commands names the folder of a rented machine's own commands (fsub/cloud/steps).
const commands = "FSUB_COMMANDS"

// Own is the command of that name of the site that a job runs at, wherever this program stands: jobs may call it by the path that it has where they were
// submitted. On a rented machine it is that machine's, else the next one in PATH after this program, or at last the first one before it. "": there is none.
func Own(name string, env []string) string {
	path := show.Env(env, "PATH")
	return cmp.Or(first(name, show.Env(env, commands), ownFile), Next(name, path, ownFile), first(name, path, ownFile))
}

// After is the site's own command of that name: the next one in PATH, or "" if there is none.
func After(name string, env []string) string { return Next(name, show.Env(env, "PATH"), ownFile) }

// ownFile is the program that runs now.
func ownFile() (os.FileInfo, error) { return os.Stat("/proc/self/exe") }

// Next returns the first executable file called name in path after this program's own, or "" if
// there is none. It never looks back, so that two copies of this program cannot call each other forever.
func Next(name, path string, own func() (os.FileInfo, error)) string {
	self, err := own()
	found := ""
	for _, dir := range filepath.SplitList(path) {
		file, info := program(dir, name)
		switch {
		case info == nil:
		case err == nil && os.SameFile(info, self):
			found = "" // what stood before it is not further on
		case found == "":
			found = file
		}
	}
	return found
}

// first returns the first executable file called name in path that is not this program, or "" if there is none. Copies of this program do not count
// either, of whatever version: each would become the other forever.
func first(name, path string, own func() (os.FileInfo, error)) string {
	self, err := own()
	for _, dir := range filepath.SplitList(path) {
		if file, info := program(dir, name); info != nil && (err != nil || !os.SameFile(info, self)) && !isCopy(file) {
			return file
		}
	}
	return ""
}

// isCopy reports whether a file is a build of the program that runs now.
func isCopy(file string) bool {
	self, ok := debug.ReadBuildInfo()
	info, err := buildinfo.ReadFile(file)
	return ok && err == nil && info.Path == self.Path
}

// program is the executable file called name in dir; nil: there is none.
func program(dir, name string) (string, os.FileInfo) {
	file := filepath.Join(dir, name)
	info, err := os.Stat(file)
	if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return "", nil
	}
	return file, info
}
