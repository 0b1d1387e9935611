package v1

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/sbatch"
)

// TestJobTellsEveryField: what the domain knows of a job is told, field by field, but for what the store alone knows.
func TestJobTellsEveryField(t *testing.T) {
	for i := range reflect.TypeFor[federation.Job]().NumField() {
		field := reflect.TypeFor[federation.Job]().Field(i).Name
		if field == "Rev" || field == "Demand" { // the store's; made of the Spec
			continue
		}
		j := federation.Job{Spec: new(sbatch.Spec)}
		v := reflect.ValueOf(&j).Elem().Field(i)
		if !filled(v) {
			t.Fatalf("%s: this test cannot fill a %s", field, v.Type())
		}
		w := JobOf(&j)
		back := w.Domain()
		if diff := cmp.Diff(v.Interface(), reflect.ValueOf(back).Field(i).Interface()); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

// filled gives a value something that is not zero.
func filled(v reflect.Value) bool {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
		return true
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return filled(v.Elem())
	case v.Kind() == reflect.Struct:
		return filled(v.Field(0))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(3)
	case v.CanUint():
		v.SetUint(3)
	default:
		return false
	}
	return true
}
