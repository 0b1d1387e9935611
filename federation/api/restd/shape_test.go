package restd

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"fsub/slurm/wire"
)

// TestBaseIsWire: answers of wire.Base are written as package wire has them, so its types must have that version's shape.
func TestBaseIsWire(t *testing.T) {
	for key, v := range map[string]any{
		"GET slurm/jobs":         wire.JobsResponse{Jobs: wire.List[wire.Job]{{JobResources: &wire.JobResources{}}}},
		"GET slurm/nodes":        wire.NodesResponse{Nodes: wire.List[wire.Node]{{}}},
		"GET slurm/partitions":   wire.PartitionsResponse{Partitions: wire.List[wire.Partition]{{}}},
		"GET slurm/reservations": wire.ReservationsResponse{Reservations: wire.List[wire.Reservation]{{}}},
		"GET slurmdb/jobs":       wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{{Steps: wire.List[wire.DBStep]{{}}}}},
		"DELETE slurm/jobs":      wire.KillJobsResponse{Status: wire.List[wire.KillStatus]{{}}},
		"POST slurm/job/submit":  wire.JobSubmitResponse{JobID: 1, StepID: "batch"},
		"POST slurm/job/{}":      wire.JobUpdateResponse{},
	} {
		if !asWire[key] {
			t.Errorf("%s is not written as wire has it", key)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences("", versionShapes()[wire.Base][key].of(got), got) {
			t.Errorf("%s: %s", key, d)
		}
	}
}

// differences are the fields in which two values that were read from JSON differ.
func differences(path string, want, got any) (out []string) {
	w, ok1 := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if ok1 && ok2 {
		names := maps.Clone(w)
		maps.Copy(names, g)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			_, inWant := w[name]
			_, inGot := g[name]
			switch {
			case !inGot:
				out = append(out, fmt.Sprintf("%s.%s is missing", path, name))
			case !inWant:
				out = append(out, fmt.Sprintf("%s.%s is too much", path, name))
			default:
				out = append(out, differences(path+"."+name, w[name], g[name])...)
			}
		}
		return out
	}
	wl, ok1 := want.([]any)
	gl, ok2 := got.([]any)
	if ok1 && ok2 && len(wl) == len(gl) {
		for i := range wl {
			out = append(out, differences(path+"[]", wl[i], gl[i])...)
		}
		return out
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	return []string{fmt.Sprintf("%s: want %s, got %s", path, a, b)}
}
