// Package admin has the commands for the administrator of the daemon: its database, the audit log, the links to fsub, and how fsub reads a script.
package admin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/store"
)

func NewStoreCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "The daemon's database: backup, check, restore; copy it to PostgreSQL and back"}
	cmd.AddCommand(newStoreBackupCommand(), newStoreCheckCommand(), newStoreRestoreCommand(), newStoreCopyCommand())
	return cmd
}

func newStoreBackupCommand() *cobra.Command {
	var file config.Flag
	var all, logs bool
	cmd := &cobra.Command{
		Use:   "backup FILE | --all DIR",
		Short: "Copy the database to a new file, or all that a new host needs to a directory",
		Long: `Copy the database to a new file, as of now. The daemon may be running. The copy holds the scripts and environments of all users: it is readable
by its owner only, and is to stay so.

With --all, or where DIR is a directory, all that a new host needs is copied: the database, the daemon's keys and certificates, the sites that were added while it ran, and
the configuration. The directory is there as a whole or not at all, and takes the place of an earlier backup of that name. Files with secrets that the configuration names stay where they are,
and are listed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := file.ReadOwn()
			if err == nil {
				err = hasStore(&c, &file)
			}
			if err != nil {
				return err
			}
			if info, err := os.Stat(args[0]); all || logs || strings.HasSuffix(args[0], "/") || err == nil && info.IsDir() {
				return backUpAll(cmd, &c, &file, args[0], logs)
			}
			if err := store.Backup(cmd.Context(), c.StorePath(), args[0]); err != nil {
				return err
			}
			r, err := store.Check(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printStore(cmd, args[0], r)
		},
	}
	file.Add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all that a new host needs, into a directory")
	cmd.Flags().BoolVar(&logs, "logs", false, "with it the output of jobs on rented machines")
	return cmd
}

func backUpAll(cmd *cobra.Command, c *config.Config, file *config.Flag, dir string, logs bool) error {
	m, err := backUp(c, cmd.Context(), file.Found(), dir, logs)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %d files\n", dir, len(m.Files))
	if apart := c.NamedSecrets(); len(apart) > 0 {
		fmt.Fprintf(out, "not in it, keep them apart: %s\n", strings.Join(apart, " "))
	}
	r, err := store.Check(cmd.Context(), filepath.Join(dir, backupStore))
	if err != nil {
		return err
	}
	return printStore(cmd, filepath.Join(dir, backupStore), r)
}

func newStoreCheckCommand() *cobra.Command {
	var file config.Flag
	var password string
	var schema bool
	cmd := &cobra.Command{
		Use:   "check [FILE | postgres://...]",
		Short: "Read the whole database, or a copy of it, and say whether it is sound",
		Long: `Read the whole database, or a copy of it, and say whether it is sound. The daemon may be running. Of a PostgreSQL each row is read, and whether what it belongs to is there;
its indexes are checked by PostgreSQL's pg_amcheck.

With --schema it is not read: an upgrade asks whether this fed knows its schema, and whether the copy fits that is made before the schema changes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := strings.Join(args, "")
			if at == "" {
				c, err := file.ReadOwn()
				if err == nil && c.Store == "" {
					err = hasStore(&c, &file)
				}
				if err != nil {
					return err
				}
				at, password = cmp.Or(c.Store, c.StorePath()), cmp.Or(password, c.StorePasswordFile)
			}
			if schema {
				return checkSchema(cmd, at)
			}
			if config.IsPostgres(at) {
				r, err := store.CheckPostgres(cmd.Context(), store.Postgres{URL: at, PasswordFile: password})
				if err != nil {
					return err
				}
				return printStore(cmd, at, r)
			}
			r, err := store.Check(cmd.Context(), at)
			if err != nil {
				return err
			}
			return printStore(cmd, at, r)
		},
	}
	file.Add(cmd)
	addPassword(cmd, &password)
	cmd.Flags().BoolVar(&schema, "schema", false, "only whether this fed can take it over from the one that wrote it")
	return cmd
}

// checkSchema is the check of an upgrade. PostgreSQL is not copied before its schema changes: that takes no room here.
func checkSchema(cmd *cobra.Command, at string) error {
	if config.IsPostgres(at) {
		return nil
	}
	u, err := store.CheckUpgrade(cmd.Context(), at)
	switch {
	case err != nil:
		return err
	case u.From == u.To:
		fmt.Fprintf(cmd.OutOrStdout(), "%s: schema %d\n", at, u.To)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s: schema %d becomes %d; the copy before that takes %d MiB, %d are free\n", at, u.From, u.To, u.Copy>>20, u.Room>>20)
	}
	return nil
}

func newStoreRestoreCommand() *cobra.Command {
	var file config.Flag
	cmd := &cobra.Command{
		Use:   "restore FILE | DIR",
		Short: "Put a copy in the place of the database; the daemon must not run",
		Long: `Put a copy in the place of the database; the daemon must not run. What was there is kept beside it.

The daemon that is started then gives no job ID that may have been given since the copy was made. Jobs that were waiting then are looked for at all
sites by their keys, and adopted where they ran meanwhile; they start only when every site has answered. What was waiting of an array is held: what became of its
tasks only people can say. Jobs that were submitted since the copy are not known any more: those that run at Slurm sites run on, those on rented machines end.

Of a directory of backup --all the keys, certificates and added sites are put back too, and the configuration where there is none.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				return restoreAll(cmd, &file, args[0])
			}
			c, err := file.ReadOwn()
			if err == nil {
				err = isFile(&c)
			}
			if err != nil {
				return err
			}
			kept, err := store.Restore(cmd.Context(), args[0], c.StorePath())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "restored; the old files are in %s\n", kept)
			return nil
		},
	}
	file.Add(cmd)
	return cmd
}

func newStoreCopyCommand() *cobra.Command {
	var password string
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy the database from SQLite to PostgreSQL, or back; no daemon may run",
		Long: `Copy the database from SQLite to PostgreSQL, or back: one is a file, the other is postgres://USER@HOST/DATABASE, as store in the configuration. No daemon may
run on either. What is there afterwards is the same store: jobs go on under their IDs.

The target is empty. A copy that was cut off goes on when the same command is given again; until it is done no daemon opens the target. Each table is compared on both sides by
the number of its rows and by a sum over what they hold.`,
		Example: `  fed store copy /var/lib/fsub/fed.db postgres://fed@db1.example.org/fed?sslmode=verify-full --password-file /etc/fsub/db.password`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var sides [2]store.Config
			for i, at := range args {
				if config.IsPostgres(at) {
					sides[i].Postgres = &store.Postgres{URL: at, PasswordFile: password}
				} else {
					sides[i].Path = at
				}
			}
			if sides[0].Postgres == nil {
				if _, err := os.Stat(args[0]); err != nil {
					return err
				}
			}
			tables, rows := 0, int64(0)
			err := store.Copy(cmd.Context(), sides[0], sides[1], func(c store.Copied) {
				if tables, rows = tables+1, rows+c.Rows; c.Rows > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "%-16s %d rows\n", c.Table, c.Rows)
				}
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "copied: %d tables with %d rows, the same on both sides\n", tables, rows)
			return nil
		},
	}
	addPassword(cmd, &password)
	return cmd
}

func addPassword(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "password-file", "", "file with the password of PostgreSQL's user, and nothing else")
}

func restoreAll(cmd *cobra.Command, file *config.Flag, dir string) error {
	m, err := readBackup(dir)
	if err != nil {
		return err
	}
	config, out := cmp.Or(file.Path, config.DefaultFile), cmd.OutOrStdout()
	put, err := putConfig(m, dir, config)
	if err != nil {
		return err
	}
	if put {
		fmt.Fprintf(out, "restored %s\n", config)
	}
	c, err := file.ReadOwn()
	if err == nil {
		err = isFile(&c)
	}
	if err != nil {
		return err
	}
	done, err := restoreFrom(&c, cmd.Context(), m, dir)
	for _, path := range done {
		fmt.Fprintf(out, "restored %s\n", path)
	}
	if err != nil {
		return err
	}
	if err := c.CheckSecrets(); err != nil {
		return fmt.Errorf("restored; before the daemon starts, restore the files that a backup leaves out: %w", err)
	}
	return nil
}

// isFile refuses to go on where the state is not in a file.
func isFile(c *config.Config) error {
	if c.Store == "" {
		return nil
	}
	return errors.New("the state is in PostgreSQL (store): copy it with pg_dump -Fc, and put it back with pg_restore; see docs/daemons.md. This command is for SQLite's file")
}

// hasStore refuses to go on where the configuration has no database.
func hasStore(c *config.Config, file *config.Flag) error {
	if err := isFile(c); err != nil {
		return err
	}
	path := c.StorePath()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // others say what else is wrong with it
	}
	if config := file.Found(); config != "" {
		return fmt.Errorf("there is no database %s, where %s has it (state_dir)", path, config)
	}
	return fmt.Errorf("there is no database %s: without %s it is looked for there; name the daemon's configuration with --config", path, config.DefaultFile)
}

// printStore prints what was found of a database, and fails if it is damaged.
func printStore(cmd *cobra.Command, path string, r *store.Report) error {
	out := cmd.OutOrStdout()
	for _, f := range r.Faults {
		fmt.Fprintln(out, f)
	}
	if len(r.Faults) > 0 {
		back := "fed store restore FILE"
		if config.IsPostgres(path) {
			back = "pg_restore (see docs/daemons.md)"
		}
		return fmt.Errorf("%s is damaged: stop the daemon, and put the last good copy back with: %s", path, back)
	}
	if r.Schema > r.Newest {
		return fmt.Errorf("%s: its schema has version %d and this fed knows up to %d: run the newer fed that wrote it", path, r.Schema, r.Newest)
	}
	what := "ok"
	if !r.Copied.IsZero() {
		what = "ok, as of " + r.Copied.Local().Format(time.DateTime)
	}
	fmt.Fprintf(out, "%s: %s: %d jobs, %d of them live; %d MiB, %d of them free; schema %d of %d\n",
		path, what, r.Jobs, r.Live, r.Bytes>>20, r.Free>>20, r.Schema, r.Newest)
	return nil
}
