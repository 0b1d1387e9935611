// Package clouds is the register of the clouds: [Sections] has a field for each kind of site whose machines are rented. What the rest of the
// daemon needs to know of a cloud is in its [kind.Settings]. Only cmd/fed imports this package, since the clouds' SDKs come with it.
package clouds

import (
	"reflect"
	"strings"

	"fsub/cloud/kind"
)

// Local is the kind of a pool of this machine, which a daemon without a configuration serves.
const Local = "local"

// Names are the kinds of sites whose machines are rented: the names of their sections.
func Names() (all []string) {
	for f := range reflect.TypeFor[Sections]().Fields() {
		all = append(all, nameOf(f))
	}
	return all
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// Of returns the section of a kind, an empty one where it is not set; nil: there is no such kind.
func (s *Sections) Of(name string) kind.Settings {
	for f, v := range reflect.ValueOf(s).Elem().Fields() {
		if nameOf(f) != name {
			continue
		}
		if v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		return v.Interface().(kind.Settings)
	}
	return nil
}

// Set are the kinds whose sections are set.
func (s *Sections) Set() (all []string) {
	for f, v := range reflect.ValueOf(s).Elem().Fields() {
		if !v.IsNil() {
			all = append(all, nameOf(f))
		}
	}
	return all
}
