package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
)

// An answer is printed, even where the command exits with another status than 0; a failure prints nothing.
func TestAsk(t *testing.T) {
	failed := errors.New("no")
	for _, c := range []struct {
		args []string
		err  error
		want string
	}{
		{nil, nil, "text\n"}, {[]string{"--json"}, nil, "[\n  \"answer\"\n]\n"}, {nil, ExitError(3), "text\n"}, {[]string{"--json"}, ExitError(3), "[\n  \"answer\"\n]\n"}, {nil, failed, ""},
	} {
		var out bytes.Buffer
		cmd := Ask(&cobra.Command{SilenceErrors: true, SilenceUsage: true}, func(context.Context, *client.Client, []string) ([]string, error) { return []string{"answer"}, c.err },
			func(w io.Writer, _ []string) error { _, err := io.WriteString(w, "text\n"); return err })
		cmd.SetOut(&out)
		cmd.SetArgs(c.args)
		if err := cmd.Execute(); !errors.Is(err, c.err) || out.String() != c.want {
			t.Errorf("%v, %v: %v, %q", c.args, c.err, err, out.String())
		}
	}
}
