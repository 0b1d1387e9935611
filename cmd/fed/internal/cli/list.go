package cli

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// List makes cmd, which has its words, the command that lists a noun. Fields of the noun's query that have the tag flag are its flags:
//
//	flag:"limit,n" usage:"how many lines at most" default:"20"
func List[T, Q any](n *v1.Noun[T, Q], cmd *cobra.Command) *cobra.Command {
	var c Connection
	var q Q
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := client.List(cmd.Context(), c.Client(), n, q)
		if err != nil {
			return err
		}
		return Print(cmd, &c, n, all)
	}
	c.Flags(cmd)
	queryFlags(cmd.Flags(), reflect.ValueOf(&q).Elem())
	return cmd
}

// Print prints things of a noun: as JSON if that is wanted, else as a table.
func Print[T, Q any](cmd *cobra.Command, c *Connection, n *v1.Noun[T, Q], all []T) error {
	if c.JSON {
		return PrintJSON(cmd.OutOrStdout(), all)
	}
	if len(all) == 0 && n.Empty != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "fed: "+n.Empty)
	}
	return PrintRows(cmd.OutOrStdout(), n, all)
}

// PrintRows prints the table of things of a noun.
func PrintRows[T, Q any](w io.Writer, n *v1.Noun[T, Q], all []T) error {
	t, flush := NewWideTable(w)
	row := make([]string, len(n.Columns))
	for i := range n.Columns {
		row[i] = n.Columns[i].Head
	}
	t.Row(row...)
	for k := range all {
		for i := range n.Columns {
			row[i] = n.Columns[i].Cell(&all[k])
		}
		t.Row(row...)
	}
	return flush()
}

// queryFlags adds the flags of the query q.
func queryFlags(flags *pflag.FlagSet, q reflect.Value) {
	for i := range q.NumField() {
		tag := q.Type().Field(i).Tag
		name, short := tag.Get("flag"), ""
		if name == "" {
			continue
		}
		if n := len(name); n > 2 && name[n-2] == ',' {
			name, short = name[:n-2], name[n-1:]
		}
		usage, usual := tag.Get("usage"), tag.Get("default")
		switch at := q.Field(i).Addr(); q.Field(i).Kind() {
		case reflect.String:
			flags.StringVarP(at.Convert(reflect.TypeFor[*string]()).Interface().(*string), name, short, usual, usage)
		case reflect.Bool:
			flags.BoolVarP(at.Interface().(*bool), name, short, false, usage)
		case reflect.Int:
			n, _ := strconv.Atoi(usual) // TestFlags has each
			flags.IntVarP(at.Interface().(*int), name, short, n, usage)
		default:
			flags.VarP(at.Convert(reflect.TypeFor[*PastTime]()).Interface().(*PastTime), name, short, usage)
		}
	}
}
