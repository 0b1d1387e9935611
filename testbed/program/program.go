// Package program gives tests the project's programs, as users install them. They are built, or taken from the folder that FSUB_BIN names: who
// tests everything builds them once.
package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Folder is the variable that names a folder with the programs of this very source.
const Folder = "FSUB_BIN"

// recipe is how the Makefile builds a program.
type recipe struct{ pkg, cgo, tags string }

// FedTags leave out of fed what its SDKs bring along and it never uses.
const FedTags = "disable_grpc_modules,grpcnotrace,remote"

var recipes = map[string]recipe{
	"fsub":        {"cmd/fsub", "0", ""},
	"fsub-remote": {"cmd/fsub", "0", "remote"},
	"fed-agent":   {"cmd/fed-agent", "0", "remote"},
	"fed":         {"cmd/fed", "1", FedTags},
	"bed":         {"testbed/bed/cmd", "0", ""},
}

// Put puts programs into dir, which is made if it is missing. Everybody may run them.
func Put(dir string, names ...string) error {
	for _, name := range names {
		if err := PutAs(filepath.Join(dir, name), name); err != nil {
			return err
		}
	}
	return nil
}

// PutAs makes path a copy of the program name.
func PutAs(path, name string) error {
	r, ok := recipes[name]
	if !ok {
		return fmt.Errorf("there is no program %s", name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if from := os.Getenv(Folder); from != "" {
		return copyProgram(path, filepath.Join(from, name))
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", r.tags, "-o", path, "fsub/"+r.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+r.cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// copyProgram copies a program. Meanwhile this process starts no other: a child would have the file open for writing until it is a program
// itself, and who runs the copy in that moment is told "text file busy".
func copyProgram(to, from string) (err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(0o755) // whatever the umask
}

// commands are the names under which fsub is Slurm's commands.
var commands = []string{"sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sacctmgr", "sshare", "sprio", "sstat", "seff", "sreport", "sdiag",
	"srun", "salloc", "sbcast", "sattach", "strigger", "scrontab"}

// Link gives the fsub in dir further names: Slurm's, if none is said.
func Link(dir string, names ...string) error {
	if len(names) == 0 {
		names = commands
	}
	for _, name := range names {
		if err := os.Symlink("fsub", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
