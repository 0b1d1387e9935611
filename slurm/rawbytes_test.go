package slurm

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"fsub/sbatch"
)

// TestBytesSurviveEncoding: a payload of any bytes is in the encoded body as it is.
func TestBytesSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.Just("\xe9"), rapid.Just("\xf4\x8f"), rapid.Just("\U0010ff41"), rapid.Just("\U0010ffff"), rapid.Just("\U0010feff"),
			rapid.StringMatching(`[a-zé]{0,3}`))
		text := func(name string) string {
			s := ""
			for _, p := range rapid.SliceOfN(piece, 0, 6).Draw(t, name) {
				s += p
			}
			return s
		}
		env := []string{text("env"), text("env")}
		given := append([]string{}, env...)
		p := sbatch.Payload{Script: text("script"), Environment: env}
		want := p.Script
		raw := guard(&p)
		body, err := json.Marshal(p.Script)
		if err != nil {
			t.Fatal(err)
		}
		if raw {
			body = unguard(body)
		}
		if !bytes.Equal(body, []byte(`"`+want+`"`)) {
			t.Fatalf("%q became %q", want, body)
		}
		if env[0] != given[0] || env[1] != given[1] {
			t.Fatalf("the caller's environment was changed: %q", env)
		}
	})
}
