package admin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
)

// NewSupportCommand is "fed support".
func NewSupportCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "support", Short: "What a bug report needs"}
	cmd.AddCommand(newDumpCommand())
	return cmd
}

func newDumpCommand() *cobra.Command {
	var c cli.Connection
	var file string
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write versions, configuration, conditions, log and metrics of the daemon into one file; administrators only",
		Long: `Writes one file for a bug report (.tar.gz): the daemon's version, its configuration without secrets, its sites, daemons and findings of health, the last lines of its log, its
metrics, and what it is at work on. There are no scripts and no environments of jobs in it, but names of users, accounts, machines and jobs: look at it before you hand it on.`,
		Args:    cobra.NoArgs,
		Example: "  fed support dump\n  fed support dump --output /tmp/fed.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				file = "fed-" + time.Now().UTC().Format("20060102-150405") + ".tar.gz"
			}
			d, err := gather(cmd.Context(), c.Client())
			if err != nil {
				return err
			}
			f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			if err := errors.Join(d.write(f), f.Close()); err != nil {
				os.Remove(file)
				return err
			}
			for _, p := range d.parts {
				if p.err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s is missing: %v\n", p.name, p.err)
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", file)
			return err
		},
	}
	c.Flags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "the file (default: fed-TIME.tar.gz here)")
	return cmd
}

// dump is what was gathered.
type dump struct{ parts []part }

// part is a file of it.
type part struct {
	name string
	text []byte
	err  error // why it is missing
}

// gather asks the daemon for all parts. One that is refused or takes too long is missing; it is an error if the first is, since nothing else would come.
func gather(ctx context.Context, c *client.Client) (*dump, error) {
	d := new(dump)
	for _, of := range []struct{ name, path string }{
		{"config.yaml", "/debug/config"},
		{"version.json", "/healthz"},
		{"ready.json", "/readyz"},
		{"log.txt", "/debug/log"},
		{"level.json", "/debug/level"},
		{"metrics.txt", "/debug/metrics"},
		{"goroutines.txt", "/debug/pprof/goroutine?debug=1"},
		{"heap.pprof", "/debug/pprof/heap"},
		{"sites.json", "/fed/v1/sites"},
		{"daemons.json", "/fed/v1/daemons"},
		{"health.json", "/fed/v1/health"},
		{"summary.json", "/fed/v1/summary?by=state,site"},
	} {
		asked, cancel := context.WithTimeout(ctx, 20*time.Second)
		var text bytes.Buffer
		err := client.Copy(asked, c, of.path, &text)
		cancel()
		if err != nil && len(d.parts) == 0 {
			return nil, err
		}
		d.parts = append(d.parts, part{of.name, text.Bytes(), err})
	}
	return d, nil
}

// write writes it as a compressed tar file. What is missing has a line in errors.txt.
func (d *dump) write(w io.Writer) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	var missing bytes.Buffer
	for _, p := range d.parts {
		if p.err != nil {
			fmt.Fprintf(&missing, "%s: %v\n", p.name, p.err)
		}
	}
	now := time.Now()
	for _, p := range append(d.parts, part{name: "errors.txt", text: missing.Bytes()}) {
		if p.err != nil {
			continue
		}
		err := archive.WriteHeader(&tar.Header{Name: "fed/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: now})
		if err == nil {
			_, err = archive.Write(p.text)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}
