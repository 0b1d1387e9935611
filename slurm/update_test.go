package slurm

import (
	"encoding/json"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// TestDifference: an update names what changes and what follows from it, empties what is gone, and never loses the key.
func TestDifference(t *testing.T) {
	base := sbatch.Spec{Name: "a", NTasks: 2, TimeLimit: time.Hour, Constraint: "ib", WorkDir: "/w", Comment: "mine"}
	const key = "fsub:t:30000001.1.abc"
	for name, c := range map[string]struct {
		st     standing
		change func(*sbatch.Spec)
		want   string
	}{
		"nothing":                    {standing{known: true}, func(*sbatch.Spec) {}, `{}`},
		"limit":                      {standing{known: true}, func(s *sbatch.Spec) { s.TimeLimit = 7 * time.Minute }, `{"time_limit":{"infinite":false,"number":7,"set":true}}`},
		"text is gone":               {standing{known: true}, func(s *sbatch.Spec) { s.Constraint = "" }, `{"constraints":""}`},
		"CPUs follow":                {standing{known: true}, func(s *sbatch.Spec) { s.NTasks = 4 }, `{"minimum_cpus":4,"tasks":4}`},
		"dependency":                 {standing{known: true}, func(s *sbatch.Spec) { s.Dependency = "afterok:1" }, `{}`},
		"comment":                    {standing{known: true}, func(s *sbatch.Spec) { s.Comment = "new" }, `{"comment":"new"}`},
		"comment that holds the key": {standing{known: true, mapped: true}, func(s *sbatch.Spec) { s.Comment = "new" }, `{"comment":"new ` + key + `"}`},
		"no comment beside the key":  {standing{known: true, mapped: true}, func(s *sbatch.Spec) { s.Comment = "" }, `{"comment":"` + key + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := federation.Job{ID: 30_000_001, Spec: &base}
			after := before
			after.EditSpec(c.change)
			d := newDriver(&site{})
			body, err := d.difference(c.st, key, &before, &after)
			if err != nil {
				t.Fatal(err)
			}
			got := compact(t, body)
			if want := compact(t, json.RawMessage(c.want)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// compact writes v with the keys of its objects in order.
func compact(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	var plain any
	if err == nil {
		err = json.Unmarshal(b, &plain)
	}
	if err == nil {
		b, err = json.Marshal(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
