package show

import (
	"bytes"
	"encoding/json"
	"io"

	"fsub/slurm/wire"
)

// Document writes v, whose reply is r, as --json or --yaml do: with the call in r's meta, and no slurmrestd.
func Document(w io.Writer, v any, r *wire.Reply, name string, args []string, yaml bool) error {
	r.Meta.Plugin.Type, r.Meta.Plugin.Name = "", ""
	// Slurm 24.11 leaves out the last word.
	r.Meta.Command = append(wire.Strings{name}, args...)
	if n := len(r.Meta.Command); n > 1 {
		r.Meta.Command = r.Meta.Command[:n-1]
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Copy(w, bytes.NewReader(raw), yaml)
}
