package bed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// slurmctld 26.05 refuses to start ("fatal: No job state file to recover") when a state file is missing, where 24.11 takes an older copy or goes
// on without. After kill -9 files are missing for two reasons, and an operator would have to mend both by hand: here the bed does.

// saveFirstState restarts the slurmctld of a new site once: some files are written for the first time when it stops in order, or after minutes.
func (b *Bed) saveFirstState(ctx context.Context, s Site, holder procID, ctld service) error {
	if _, err := os.Stat(filepath.Join(b.stateDir(s.Name), "assoc_usage")); err == nil {
		return nil
	}
	if err := end(holder, ctld, unix.SIGTERM, endLimit); err != nil {
		return err
	}
	return b.start(ctx, s.Name, holder, ctld)
}

// finishSaves ends the saves that kill -9 cut short. slurmctld writes NAME.new whole, moves NAME to NAME.old, then NAME.new to NAME; between the
// two moves there is no NAME. Where Slurm helps itself it is left to.
func (b *Bed) finishSaves(s Site) error {
	if version, err := b.rootVersion(s.Suite); err != nil || version < "25" {
		return err
	}
	saved, err := filepath.Glob(filepath.Join(b.stateDir(s.Name), "*.new"))
	if err != nil {
		return err
	}
	for _, file := range saved {
		name := strings.TrimSuffix(file, ".new")
		if _, err := os.Stat(name); err == nil {
			continue // .new is half a file
		}
		if err := os.Rename(file, name); err != nil {
			return fmt.Errorf("finish the save of %s: %w", name, err)
		}
	}
	return nil
}

func (b *Bed) stateDir(site string) string { return filepath.Join(b.siteDir(site), "state") }
