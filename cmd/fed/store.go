package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fsub/federation/store"
)

func newStoreCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "The daemon's database: backup, check, restore"}
	cmd.AddCommand(newStoreBackupCommand(), newStoreCheckCommand(), newStoreRestoreCommand())
	return cmd
}

func (c *Config) storePath() string { return filepath.Join(c.StateDir, "fed.db") }

func newStoreBackupCommand() *cobra.Command {
	var file configFlag
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a new file, while the daemon runs or not",
		Long: `Copy the database to a new file, as of now. The daemon may be running. The copy holds the scripts and environments of all users: it is readable
by its owner only, and is to stay so. Keep the daemon's configuration and keys beside it: they are not in it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := file.read()
			if err != nil {
				return err
			}
			if err := store.Backup(cmd.Context(), c.storePath(), args[0]); err != nil {
				return err
			}
			r, err := store.Check(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printStore(cmd, args[0], r)
		},
	}
	file.add(cmd)
	return cmd
}

func newStoreCheckCommand() *cobra.Command {
	var file configFlag
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Read the whole database, or a copy of it, and say whether it is sound",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := file.read()
			if err != nil {
				return err
			}
			path := c.storePath()
			if len(args) > 0 {
				path = args[0]
			}
			r, err := store.Check(cmd.Context(), path)
			if err != nil {
				return err
			}
			return printStore(cmd, path, r)
		},
	}
	file.add(cmd)
	return cmd
}

func newStoreRestoreCommand() *cobra.Command {
	var file configFlag
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a copy in the place of the database; the daemon must not run",
		Long: `Put a copy in the place of the database; the daemon must not run. What was there is kept beside it.

The daemon that is started then gives no job ID that may have been given since the copy was made. Jobs that were waiting then are looked for at all
sites by their keys, and adopted where they ran meanwhile; they start only when every site has answered. What was waiting of an array is held: what became of its
tasks only people can say. Jobs that were submitted since the copy are not known any more: those that run at Slurm sites run on, those on rented machines end.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := file.read()
			if err != nil {
				return err
			}
			kept, err := store.Restore(cmd.Context(), args[0], c.storePath())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "restored; what was there is %s\n", kept)
			return nil
		},
	}
	file.add(cmd)
	return cmd
}

// printStore prints what was found of a database, and fails if it is damaged.
func printStore(cmd *cobra.Command, path string, r *store.Report) error {
	out := cmd.OutOrStdout()
	for _, f := range r.Faults {
		fmt.Fprintln(out, f)
	}
	if len(r.Faults) > 0 {
		return fmt.Errorf("%s is damaged: stop the daemon, and put the last good copy back with: fed store restore FILE", path)
	}
	what := "ok"
	if !r.Copied.IsZero() {
		what = "ok, as of " + r.Copied.Local().Format(time.DateTime)
	}
	fmt.Fprintf(out, "%s: %s: %d jobs, %d of them live; %d MiB, %d of them free; schema %d of %d\n",
		path, what, r.Jobs, r.Live, r.Bytes>>20, r.Free>>20, r.Schema, r.Newest)
	return nil
}
