package restd

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"fsub/slurm/wire"
)

// slurmrestd writes every field of a job, and every number as an object: 5 to 7 KiB, of which most says nothing. For our
// own commands, which ask for it with sparse=1, fields that are zero are left out and numbers are plain. It reads
// back as the same, since wire takes every form of a number.

// sparse is a job with a type that is written so.
func sparse(job *wire.Job) any {
	return reflect.NewAt(sparseJob(), reflect.ValueOf(job).UnsafePointer()).Interface()
}

// sparseJob is wire.Job with omitzero on every field and plain numbers. It has the same layout in memory: only tags differ,
// and types by their methods.
var sparseJob = sync.OnceValue(func() reflect.Type {
	job := reflect.TypeFor[wire.Job]()
	fields := make([]reflect.StructField, job.NumField())
	for i := range fields {
		fields[i] = job.Field(i)
		fields[i].Tag = reflect.StructTag(fmt.Sprintf(`json:"%s,omitzero"`, fields[i].Tag.Get("json")))
		if fields[i].Type == reflect.TypeFor[wire.Number]() {
			fields[i].Type = reflect.TypeFor[plainNumber]()
		}
	}
	t := reflect.StructOf(fields)
	if t.Size() != job.Size() || t.NumField() != job.NumField() {
		panic("api: wire.Job and its sparse form differ in layout")
	}
	return t
})

// plainNumber is a wire.Number that is written as a number.
type plainNumber wire.Number

// MarshalJSON implements json.Marshaler.
func (n plainNumber) MarshalJSON() ([]byte, error) {
	if n.Infinite {
		return []byte(`"INFINITE"`), nil
	}
	return strconv.AppendInt(make([]byte, 0, 20), n.Number, 10), nil
}
