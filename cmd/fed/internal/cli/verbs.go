package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

// AddVerbs adds the commands of a noun whose things users add themselves to noun, which it returns: the verb that adds one, list, show, and the one that removes it. add has
// the words of the first. Fields of T that have the tag arg are its arguments after the name, in their order; those that have the tag flag are its flags:
// see [flagsOf].
//
//	URL string `json:"url" arg:"URL"`
func AddVerbs[T any](noun *cobra.Command, n *v1.Owned[T], add *cobra.Command) *cobra.Command {
	noun.AddCommand(
		addVerb(n, add),
		List(&n.Noun, &cobra.Command{Use: "list", Short: fmt.Sprintf("List your %ss; operators see those of all", n.Word)}),
		showVerb(n),
		verb(n, n.Removes(), "", fmt.Sprintf("%s a %s", strings.ToUpper(n.Removes()[:1])+n.Removes()[1:], n.Word), func(cmd *cobra.Command, c *client.Client, path string) error {
			_, err := client.Delete[v1.None](cmd.Context(), c, path)
			return err
		}))
	return noun
}

// Verb is the command for a verb of the noun's own, which do carries out. It gets the path of the thing that is named with the verb behind it.
func Verb[T any](n *v1.Owned[T], name, short string, do func(cmd *cobra.Command, c *client.Client, path string) error) *cobra.Command {
	return verb(n, name, "/"+name, short, do)
}

func verb[T any](n *v1.Owned[T], name, action, short string, do func(cmd *cobra.Command, c *client.Client, path string) error) *cobra.Command {
	var c Connection
	var user string
	cmd := &cobra.Command{Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		path := n.One(url.PathEscape(args[0])) + action
		if user != "" {
			path += "?" + url.Values{"user": {user}}.Encode()
		}
		return do(cmd, c.Client(), path)
	}}
	c.Flags(cmd)
	userFlag(cmd, &user, n.Word)
	return cmd
}

func userFlag(cmd *cobra.Command, user *string, word string) {
	cmd.Flags().StringVar(user, "user", "", fmt.Sprintf("whose %s, for operators (default: yours)", word))
}

func addVerb[T any](n *v1.Owned[T], cmd *cobra.Command) *cobra.Command {
	var thing T
	into, words := reflect.ValueOf(&thing).Elem(), []string{n.Add, "NAME"}
	var fields []int
	for i := range into.NumField() {
		if word := into.Type().Field(i).Tag.Get("arg"); word != "" {
			fields, words = append(fields, i), append(words, word)
		}
	}
	cmd.Use, cmd.Args = strings.Join(words, " "), cobra.ExactArgs(len(words)-1)
	Ask(cmd, func(ctx context.Context, c *client.Client, args []string) (T, error) {
		_, name := n.Key(&thing)
		*name = args[0]
		for i, field := range fields {
			into.Field(field).SetString(args[i+1])
		}
		return client.Post[T](ctx, c, n.Path, thing)
	}, func(w io.Writer, done T) error { return showThing(w, n, &done) })
	flagsOf(cmd.Flags(), into)
	return cmd
}

func showVerb[T any](n *v1.Owned[T]) *cobra.Command {
	var user string
	cmd := Ask(&cobra.Command{Use: "show NAME", Short: fmt.Sprintf("Show all that there is of a %s", n.Word), Args: cobra.ExactArgs(1)}, func(ctx context.Context, c *client.Client, args []string) ([]T, error) {
		all, err := client.List(ctx, c, &n.Noun, v1.None{})
		all = slices.DeleteFunc(all, func(x T) bool {
			owner, name := n.Key(&x)
			return *name != args[0] || user != "" && *owner != user
		})
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("there is no %s %q that you may see; see: fed %[1]s list", n.Word, args[0])
		}
		return all, err
	}, func(w io.Writer, all []T) error {
		for i := range all {
			if err := showThing(w, n, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	userFlag(cmd, &user, n.Word)
	return cmd
}

// showThing prints all columns of a thing that are not empty, each in a line.
func showThing[T any](w io.Writer, n *v1.Owned[T], x *T) error {
	columns, wide := slices.Concat(n.Columns, n.More), 0
	for _, c := range columns {
		wide = max(wide, len(c.Head))
	}
	for _, c := range columns {
		if text := c.Cell(x); text != "" {
			if _, err := fmt.Fprintf(w, "%-*s %s\n", wide, strings.ToLower(c.Head), plain.Line(text)); err != nil {
				return err
			}
		}
	}
	return nil
}
