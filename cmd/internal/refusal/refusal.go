// Package refusal is srun and salloc: within a job they are the site's own, which stands further on
// in PATH; elsewhere there is nothing that they could do, and one sentence says what to do instead.
package refusal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"fsub/cmd/internal/show"
)

// Main is the command name, srun or salloc. Within a job it does not return: the process becomes
// the site's command.
func Main(name string, args, env []string, stdout, stderr io.Writer) int {
	next := After(name, env)
	switch {
	case show.Env(env, "SLURM_JOB_ID") != "" && next != "":
		err := syscall.Exec(next, append([]string{name}, args...), env)
		fmt.Fprintf(stderr, "%s: error: %s: %s\n", name, next, err)
		return 1
	case show.Env(env, "SLURM_JOB_ID") != "":
		fmt.Fprintf(stderr, "%s: error: this job's site has no %s in PATH behind the federation's\n", name, name)
		return 1
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-V"):
		fmt.Fprintln(stdout, show.Version)
		return 0
	}
	own := ""
	if next != "" {
		own = "; for this machine's own cluster run " + next
	}
	fmt.Fprintf(stderr, "%s: error: the federation runs batch jobs: put the command into a script (%s works there) and submit it with sbatch, "+
		"or use sbatch --wrap%s\n", name, "srun", own)
	return 1
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
		file := filepath.Join(dir, name)
		info, statErr := os.Stat(file)
		switch {
		case statErr != nil || info.IsDir() || info.Mode()&0o111 == 0:
		case err == nil && os.SameFile(info, self):
			found = "" // what stood before it is not further on
		case found == "":
			found = file
		}
	}
	return found
}
