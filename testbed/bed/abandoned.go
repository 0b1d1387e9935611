package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Abandoned lists the directories of temporary beds that run while the process that made them does not: what a test that was killed has
// left. One whose directory is gone is abandoned as well.
func Abandoned() ([]string, error) {
	dirs, err := running()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !abandoned(dir) }), nil
}

// running lists the directories of all beds of which some site runs, by the processes that hold their namespaces.
func running() ([]string, error) {
	holders, err := processes(func(p process) bool { return holderDir(p) != "" })
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, p := range holders {
		if dir := holderDir(p); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// holderDir is the directory of the bed of which p holds a site, "" if it holds none.
func holderDir(p process) string {
	if len(p.argv) != 4 || p.argv[2] != holderScript {
		return ""
	}
	name, ok := strings.CutPrefix(p.argv[0], "fsub-bed-")
	dir, ok2 := strings.CutSuffix(p.argv[3], "/sites/"+name)
	if !ok || !ok2 {
		return ""
	}
	return dir
}

func abandoned(dir string) bool {
	var st state
	err := readJSON(filepath.Join(dir, "bed.json"), &st)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && st.Owner != nil && !st.Owner.alive()
}

// DownAbandoned stops the beds that [Abandoned] lists and removes their directories.
func DownAbandoned(ctx context.Context, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	dirs, err := Abandoned()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		fmt.Fprintf(progress, "%s was left by a process that is gone\n", dir)
		if err := downAbandoned(ctx, dir, progress); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

func downAbandoned(ctx context.Context, dir string, progress io.Writer) error {
	b, err := Open(dir)
	if err != nil {
		return err
	}
	if _, err := b.loadState(); err == nil {
		if err := b.Down(ctx, nil, true, progress); err != nil {
			return err
		}
		return os.RemoveAll(dir)
	}
	holders, err := processes(func(p process) bool { return holderDir(p) == dir })
	if err != nil {
		return err
	}
	for _, p := range holders { // nothing else is known of it: the links go with the namespaces
		if id, err := identify(p.pid); err == nil {
			if err := killHolder(id); err != nil {
				return err
			}
		}
	}
	return nil
}
