package bed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// commandNames are the names under which fsub is Slurm's commands.
var commandNames = []string{"sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sacctmgr", "sshare", "sprio", "sstat", "seff", "sreport", "sdiag",
	"srun", "salloc", "sbcast", "sattach", "strigger", "scrontab"}

// InstallCommands copies the fsub binary into BinDir, with Slurm's names as links to it: for users in the login, and for jobs at the sites.
// What runs of an older copy goes on.
func (b *Bed) InstallCommands(fsub string) error {
	data, err := os.ReadFile(fsub)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.BinDir(), 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(b.BinDir(), "fsub"), data, 0o755); err != nil {
		return err
	}
	for _, name := range commandNames {
		if err := os.Symlink("fsub", filepath.Join(b.BinDir(), name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
