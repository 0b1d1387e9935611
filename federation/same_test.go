package federation

import (
	"reflect"
	"testing"
	"time"

	"fsub/topology"
)

// TestSame changes every field of an observation, and of what is in it, by itself: none is forgotten.
func TestSame(t *testing.T) {
	make := func() *Observation {
		o := new(Observation)
		fill(reflect.ValueOf(o).Elem())
		return o
	}
	if !make().Same(make()) {
		t.Fatal("two that are alike are not the same")
	}
	n := 0
	var each func(path string, at func(o *Observation) reflect.Value)
	each = func(path string, at func(o *Observation) reflect.Value) {
		v := at(make())
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					each(path+"."+v.Type().Field(i).Name, func(o *Observation) reflect.Value { return at(o).Field(i) })
				}
			}
			return
		case v.Kind() == reflect.Slice:
			each(path+"[0]", func(o *Observation) reflect.Value { return at(o).Index(0) })
		case v.Kind() == reflect.Pointer:
			each(path, func(o *Observation) reflect.Value { return at(o).Elem() })
		case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Slice:
			each(path+"[x]", func(o *Observation) reflect.Value { return at(o).MapIndex(reflect.ValueOf("x")).Index(0) })
		}
		o := make()
		change(at(o))
		if n++; o.Same(make()) != (path == ".At") {
			t.Errorf("with another %s the observation is the same: %v", path, path != ".At")
		}
	}
	each("", func(o *Observation) reflect.Value { return reflect.ValueOf(o).Elem() })
	if n < 120 {
		t.Errorf("only %d fields were changed", n)
	}
}

var _ topology.Switch

// fill puts something into every field.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x"), e)
	}
}

// change makes a value another one.
func change(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(2e9, 0)))
	case v.Kind() == reflect.String:
		v.SetString("other")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	default:
		v.SetZero()
	}
}
