package submit

import (
	"encoding/json"
	"errors"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// parse reads the call. Only if it has an option that sbatch does not know, the daemon is asked for
// the options that plugins of its sites add, and the call is read again with them.
func parse(in sbatch.Input, c *conn.Conn) (*sbatch.Request, error) {
	in.Stdin = once(in.Stdin)
	req, err := sbatch.Parse(in)
	exit := (*sbatch.Exit)(nil)
	if !errors.As(err, &exit) || !exit.Unknown {
		return req, err
	}
	if in.Plugins = Plugins(c); len(in.Plugins) == 0 {
		return nil, err
	}
	return sbatch.Parse(in)
}

// once keeps what was read: stdin cannot be read twice.
func once(read func() ([]byte, error)) func() ([]byte, error) {
	var body []byte
	var err error
	done := false
	return func() ([]byte, error) {
		if !done {
			body, err = read()
			done = true
		}
		return body, err
	}
}

// Plugins asks the daemon for the options that plugins of its sites add. Without an answer there are none, and sbatch's own refusal stands.
func Plugins(c *conn.Conn) []sbatch.Plugin {
	status, reply, err := c.Do("GET", "/fed/v1/options", nil)
	var known []v1.PluginOption
	if err != nil || status != 200 || json.Unmarshal(reply, &known) != nil {
		return nil
	}
	list := make([]sbatch.Plugin, len(known))
	for i := range known {
		list[i] = known[i].Plugin()
	}
	return list
}
