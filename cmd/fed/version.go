package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"fsub/federation/store"
)

// version names the build: the module's version, which has the time and the hash of its commit where no tag names it, Go's, and the newest schema of the store that it knows.
func version() string {
	of, with := "of an unknown commit", "an unknown Go"
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			of = v
		}
		with = info.GoVersion
	}
	return fmt.Sprintf("%s, built with %s, database schema %d", of, with, store.NewestSchema())
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Name this build: its version or commit, and the schema of the database that it writes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fed %s\n", version())
			return err
		},
	}
}
