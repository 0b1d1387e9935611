// Package cli is what the commands of fed have in common: how they reach the daemon ([Connection]), and how they print what it has ([Table],
// [List]).
package cli

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/internal/conn"
	"fsub/federation/api/client"
)

// Connection is how a command reaches the daemon.
type Connection struct {
	Socket string
	JSON   bool // instead of a table
}

// Flags adds what every command that asks the daemon has.
func (c *Connection) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.Socket, "socket", DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET); without one, the daemon of FSUB_SERVER or fsub login")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print JSON")
}

// DefaultSocket is where the daemon is if nothing says otherwise.
func DefaultSocket() string {
	if s := os.Getenv("FSUB_SOCKET"); s != "" {
		return s
	}
	usual := config.Default().Socket
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Stat(usual); errors.Is(err, fs.ErrNotExist) {
			if own := home + conn.OwnSocket; fileExists(own) {
				return own
			}
		}
	}
	return usual
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Client is a client of the daemon: at the socket that the flag or the environment names, else at one of this machine, else on another machine.
func (c *Connection) Client() *client.Client {
	if at, far := c.elsewhere(); far {
		return over(at)
	}
	return client.New(c.Socket)
}

// PrintJSON prints a value for programs.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
