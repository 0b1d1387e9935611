package v1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation"

	"fsub/slurm/wire"
)

// leftOut are the fields of a job that a row does not have.
var leftOut = []string{"JobResources", "Power", "PriorityByPartition", "StepID", "StdOutExpanded", "StdErrExpanded", "StdInExpanded", "BillableTRES"}

// fill sets every field that a row has to a value drawn by t.
func fill(t *rapid.T, j *wire.Job) {
	v := reflect.ValueOf(j).Elem()
	text := rapid.StringMatching(`[ -~ü]{0,9}`)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if slices.Contains(leftOut, name) {
			continue
		}
		n := rapid.Int64Range(-1<<40, 1<<62).Draw(t, name)
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = text.Draw(t, name)
		case *wire.Number:
			*f = rapid.SampledFrom([]wire.Number{{}, wire.Inf(), wire.Num(0), wire.Num(n)}).Draw(t, name)
		case *int64:
			*f = n
		case *wire.Int:
			*f = wire.Int(n)
		case *bool:
			*f = n&1 == 1
		case *wire.Strings:
			*f = rapid.SampledFrom([]wire.Strings{nil, {"RUNNING"}, {"RUNNING", "COMPLETING"}}).Draw(t, name)
		case *wire.ExitCode:
			if code := n & 0xffff; code != 0 {
				f.ReturnCode, f.Signal.ID = wire.Num(code>>8), wire.Num(code&0xff)
			}
		default:
			panic(fmt.Sprintf("a row has no way to write %s, a %T", name, f))
		}
	}
}

// whole appends all of a row to b.
func whole(b []byte, j *wire.Job) []byte {
	shared, own := AppendRow(b, nil, j)
	return append(shared, own...)
}

func TestRowsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got wire.Job
		fill(t, &want)
		row := whole(nil, &want)
		got.JobID = 99 // of the row before
		if err := ReadRow(row, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
		for i := range row {
			ReadRow(row[:i], &got) // cut short: an error or not, but no panic
		}
	})
}

// Numbers are the wire's: none is used twice, none is left out, and none has changed.
func TestNumbersOfRows(t *testing.T) {
	for i, f := range jobRow().fields {
		if f.kind == unused {
			t.Errorf("no field of a job has the number %d", i)
		}
	}
	tagged := 0
	for f := range reflect.TypeFor[wire.Job]().Fields() {
		if f.Tag.Get("row") != "" {
			tagged++
		} else if !slices.Contains(leftOut, f.Name) {
			t.Errorf("%s has no number, and is not among those that are left out", f.Name)
		}
	}
	if n := len(jobRow().fields); tagged != n {
		t.Errorf("%d fields of a job have %d numbers", tagged, n)
	}
	for name, number := range map[string]int{"Account": 0, "JobID": 51, "State": 53, "Priority": 85, "SubmitTime": 108, "WorkDir": 126} {
		if tag := jobRow().tagOf(name); tag != uint64(number)<<2 {
			t.Errorf("%s has the number %d, and had %d", name, tag>>2, number)
		}
	}
}

// A newer daemon may write fields that this client does not know.
func TestUnknownFieldsAreLeftOut(t *testing.T) {
	want := wire.Job{JobID: 17, Name: "a"}
	row := appendText(nil, uint64(len(jobRow().fields)+5)<<2, "new")
	row = appendNumber(whole(row, &want), uint64(len(jobRow().fields))<<2, 5)
	var got wire.Job
	if err := ReadRow(row, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v", err, got)
	}
}

func FuzzReadRow(f *testing.F) {
	f.Add(whole(nil, &wire.Job{JobID: 1, Name: "x", State: wire.Strings{"RUNNING"}, TimeLimit: wire.Inf(), Hold: true}))
	f.Fuzz(func(t *testing.T, row []byte) {
		var j wire.Job
		ReadRow(row, &j)
	})
}

// benchJob is a job that waits.
var benchJob = wire.Job{JobID: 30000001, Name: "train", UserName: "alice", Partition: "main", State: wire.Strings{"PENDING"}, Account: "proj",
	TRESReq: "cpu=1,mem=100M,node=1,billing=1", WorkDir: "/home/alice/project", StdOut: "/home/alice/project/slurm-%j.out",
	StdIn: "/dev/null", NodeCount: wire.Num(1), CPUs: wire.Num(1), SubmitTime: wire.Num(1800000000), TimeLimit: wire.Num(60), Priority: wire.Num(1)}

// BenchmarkReadRow reads a job as a row, and as the JSON of a wire.Job.
func BenchmarkReadRow(b *testing.B) {
	j := benchJob
	text, err := json.Marshal(&j)
	if err != nil {
		b.Fatal(err)
	}
	row := whole(nil, &j)
	for form, read := range map[string]func() error{
		"row": func() error { return ReadRow(row, &j) }, "json": func() error { return json.Unmarshal(text, &j) },
	} {
		b.Run("form="+form, func(b *testing.B) {
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(map[string]int{"row": len(row), "json": len(text)}[form]), "bytes")
		})
	}
}

func BenchmarkAppendRow(b *testing.B) {
	j := benchJob
	var shared, own []byte
	for b.Loop() {
		shared, own = AppendRow(shared[:0], own[:0], &j)
	}
}

// What is foretold stands behind a row, which an older client reads without it; a row without it foretells nothing.
func TestForetoldReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got wire.Job
		fill(t, &want)
		f := Foretold{Site: rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "site"), Within: rapid.Int64().Draw(t, "within"), Price: federation.Money(rapid.Int64().Draw(t, "price")),
			Spent: rapid.SampledFrom([]wire.Number{{}, wire.Num(0), wire.Num(4_100_000)}).Draw(t, "spent")}
		row := whole(nil, &want)
		if none := ReadForetold(row); none != (Foretold{}) {
			t.Fatalf("a row without it foretells %+v", none)
		}
		row = AppendForetold(row, &f)
		if err := ReadRow(row, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
		if read := ReadForetold(row); read != f {
			t.Fatalf("got %+v, want %+v", read, f)
		}
		for i := range row {
			ReadForetold(row[:i]) // cut short: no panic
		}
	})
}
