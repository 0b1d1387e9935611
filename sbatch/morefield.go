package sbatch

import (
	"reflect"
	"strings"
	"sync"
)

// fieldsOf finds fields of T by the names of their options: those that JSON has, with dashes, unless a tag "opt" says another.
func fieldsOf[T any]() map[string]int {
	fields := map[string]int{}
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		fields[OptionOf(typ.Field(i).Tag)] = i
	}
	return fields
}

// OptionOf is the name of the option that sets a field with a tag.
func OptionOf(tag reflect.StructTag) string {
	if name := tag.Get("opt"); name != "" {
		return name
	}
	json, _, _ := strings.Cut(tag.Get("json"), ",")
	return strings.ReplaceAll(json, "_", "-")
}

var (
	specFields = sync.OnceValue(fieldsOf[Spec])
	moreFields = sync.OnceValue(fieldsOf[More])
)

// field points to what an option sets: a *string, *int, *bool or *YesNo where it is a plain one. It is nil if the option is not of m.
func (m *More) field(option string) any {
	if i, ok := moreFields()[option]; ok {
		return reflect.ValueOf(m).Elem().Field(i).Addr().Interface()
	}
	return nil
}

// text points to the text that an option sets, nil if it sets none.
func (s *Spec) text(option string) *string {
	if i, ok := specFields()[option]; ok {
		p, _ := reflect.ValueOf(s).Elem().Field(i).Addr().Interface().(*string)
		return p
	}
	return nil
}
