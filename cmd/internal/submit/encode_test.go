package submit

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// TestEncodingIsThatOfTheTypes makes requests with any of the fields set and reads back what was written. A field that is
// added to the types and forgotten here fails it.
func TestEncodingIsThatOfTheTypes(t *testing.T) {
	when := rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "unix"), 0).UTC() })
	// Components of a heterogeneous job are Specs again: without a bound there is no end to them.
	specs := rapid.MakeCustom[sbatch.Spec](rapid.MakeConfig{Fields: map[reflect.Type]map[string]*rapid.Generator[any]{
		reflect.TypeFor[sbatch.Spec](): {"Het": rapid.Just([]sbatch.Spec(nil)).AsAny()},
	}})
	rapid.Check(t, func(t *rapid.T) {
		spec := specs.Draw(t, "spec")
		if rapid.Bool().Draw(t, "has components") {
			spec.Het = rapid.SliceOfN(specs, 1, 2).Draw(t, "components")
		}
		spec.Begin, spec.Deadline = when.Draw(t, "begin"), when.Draw(t, "deadline")
		payload := rapid.Make[sbatch.Payload]().Draw(t, "payload")
		host := rapid.String().Draw(t, "host")
		want := v1.SubmitRequest{Spec: spec, Payload: payload, SubmitHost: host}
		written := appendSubmit(nil, host, &sbatch.Request{Spec: spec, Payload: payload})
		var got, usual v1.SubmitRequest
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatalf("%v in %s", err, written)
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &usual); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(usual, got); diff != "" {
			t.Fatalf("(-encoding/json +written by hand)\n%s", diff)
		}
	})
}
