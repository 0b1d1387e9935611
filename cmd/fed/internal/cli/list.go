package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// Lister is what is special about the list command of a noun. Each part may be nil.
type Lister[T, Q any] struct {
	Ask    func(q *Q, args []string) error           // completes the query by the command's arguments and own flags
	Choose func(all []T, args []string) ([]T, error) // leaves those that are listed
	Table  func(w io.Writer, all []T, v View) error  // prints the table where it has other lines than one for each thing
	Heads  []string                                  // of that table
	// Instead answers in place of the list, unless JSON is wanted. It reports whether it has.
	Instead func(cmd *cobra.Command, c *client.Client, q *Q) (bool, error)
}

// List makes cmd, which has its words, the command that lists a noun. Fields of the noun's query that have the tag flag are its flags: see [flagsOf].
func List[T, Q any](n *v1.Noun[T, Q], cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	return ListWith(n, cmd, Lister[T, Q]{})
}

// ListWith is List for a command with arguments, flags or a table that the noun's row does not give. cmd says which arguments it takes.
func ListWith[T, Q any](n *v1.Noun[T, Q], cmd *cobra.Command, l Lister[T, Q]) *cobra.Command {
	var c Connection
	var q Q
	var v View
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if l.Ask != nil {
			if err := l.Ask(&q, args); err != nil {
				return err
			}
		}
		if l.Instead != nil && !c.JSON {
			if done, err := l.Instead(cmd, c.Client(), &q); done || err != nil {
				return err
			}
		}
		all, err := client.List(cmd.Context(), c.Client(), n, q)
		if err == nil && l.Choose != nil {
			all, err = l.Choose(all, args)
		}
		switch {
		case err != nil:
			return err
		case l.Table != nil && !c.JSON:
			return l.Table(cmd.OutOrStdout(), all, v)
		}
		return print(cmd, &c, n, all, v)
	}
	c.Flags(cmd)
	flagsOf(cmd.Flags(), reflect.ValueOf(&q).Elem())
	if heads := slices.Concat(l.Heads, Heads(n)); len(heads) > 0 {
		v.flags(cmd.Flags(), heads)
	}
	return cmd
}

// Print prints things of a noun: as JSON if that is wanted, else as a table.
func Print[T, Q any](cmd *cobra.Command, c *Connection, n *v1.Noun[T, Q], all []T) error {
	return print(cmd, c, n, all, View{})
}

func print[T, Q any](cmd *cobra.Command, c *Connection, n *v1.Noun[T, Q], all []T, v View) error {
	if c.JSON {
		all, _, err := arrange(n, all, v)
		if err != nil {
			return err
		}
		return PrintJSON(cmd.OutOrStdout(), all)
	}
	if len(all) == 0 && n.Empty != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "fed: "+n.Empty)
	}
	return PrintRows(cmd.OutOrStdout(), n, all, v)
}

// PrintRows prints the table of things of a noun.
func PrintRows[T, Q any](w io.Writer, n *v1.Noun[T, Q], all []T, v View) error {
	columns, err := chosen(n, v.Columns)
	if err != nil {
		return err
	}
	all, left, err := arrange(n, all, v)
	if err != nil {
		return err
	}
	t, flush := NewWideTable(w)
	t.Row(headsOf(columns)...)
	row := make([]string, len(columns))
	for k := range all {
		for i := range columns {
			row[i] = columns[i].Cell(&all[k])
		}
		t.Row(row...)
	}
	if err := flush(); err != nil || left == 0 || !t.Aligned() {
		return err
	}
	_, err = fmt.Fprintf(w, "and %d more\n", left)
	return err
}
