package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
)

// filled returns a T of which every field, however deep, has a value that is not zero and differs from its neighbours'. A
// field that is added to a type is in the tests without anybody thinking of it.
func filled[T any](seed int) T {
	var v T
	n := seed * 1000
	fill(reflect.ValueOf(&v).Elem(), &n, nil)
	return v
}

// fill leaves out what a type has of its own kind: it would never end. within are the types around v.
func fill(v reflect.Value, n *int, within []reflect.Type) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000+int64(*n), int64(*n)).UTC()))
		return
	}
	if v.Type() == reflect.TypeFor[*demand.Demand]() {
		return // it follows from the Spec
	}
	if v.Type() == reflect.TypeFor[[]decision.LeftOut]() {
		return // it is not stored
	}
	if v.Type() == reflect.TypeFor[federation.TaskSet]() {
		v.Set(reflect.ValueOf(federation.Tasks(*n, *n+1, *n+5)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n) % 256)
	case reflect.Uint32:
		v.SetUint(1<<31 + uint64(*n)) // above what fits in an int32
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.String:
		v.SetString(fmt.Sprintf("<text> %d ü'\"\n", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, within)
	case reflect.Slice:
		if slices.Contains(within, v.Type().Elem()) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, within)
		fill(v.Index(1), n, within)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") == "-" {
				continue // it is not stored
			}
			fill(v.Field(i), n, append(within, v.Type()))
		}
	default:
		panic("storetest: cannot fill a " + v.Type().String())
	}
}
