// Package words says what a job asks for in slurmrestd's words: in a submission ([Describe]), in a record of the job ([Show]) and in a submission of
// v0.0.38 ([Describe38]); [Read] and [ReadMore] are the way back. It goes by the tags "slurm" of [sbatch.Spec] and [sbatch.More]:
//
//	slurm:"DESC,JOB,V38"
//
// DESC is a field of [wire.JobDesc] by its JSON name, JOB one of [wire.Job], V38 a key of v0.0.38. One that is left out is as DESC; "-" is none, since
// there is no such field or the value takes more than a name. NAME=PREFIX* puts a prefix before the value, before each item of a list where it ends
// with a colon behind a slash ("gres/gpu:"). +FLAG is a word in the list of flags. What takes more than a name is left to those who describe and show.
package words

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/wire"
)

// word is one field of a Spec.
type word struct {
	field     int
	desc, job int // fields of wire.JobDesc and wire.Job; -1: none
	prefix    string
	flag      string
	v38       string
}

// table are the words of a Spec, and of what belongs to its More.
type table struct{ spec, more []word }

var words = sync.OnceValue(func() table {
	return table{wordsOf(reflect.TypeFor[sbatch.Spec]()), wordsOf(reflect.TypeFor[sbatch.More]())}
})

func wordsOf(typ reflect.Type) (list []word) {
	desc, job := fieldsOf(reflect.TypeFor[wire.JobDesc]()), fieldsOf(reflect.TypeFor[wire.Job]())
	for i := range typ.NumField() {
		tag, ok := typ.Field(i).Tag.Lookup("slurm")
		if !ok {
			continue
		}
		names := append(strings.Split(tag, ","), "", "")
		w := word{field: i, desc: -1, job: -1}
		name, prefix, _ := strings.Cut(names[0], "=")
		w.prefix = strings.TrimSuffix(prefix, "*")
		if flag, ok := strings.CutPrefix(name, "+"); ok {
			w.flag, name = flag, "-"
		}
		at := func(fields map[string]int, name string) int {
			n, known := fields[name]
			switch {
			case name == "-":
				return -1
			case !known:
				panic("words: " + typ.Name() + "." + typ.Field(i).Name + ": slurmrestd has no " + name)
			}
			return n
		}
		or := func(n string) string {
			if n == "" {
				return name
			}
			return n
		}
		w.desc, w.job = at(desc, name), at(job, or(names[1]))
		if w.v38 = or(names[2]); w.v38 == "-" {
			w.v38 = ""
		}
		list = append(list, w)
	}
	return list
}

// fieldsOf are the fields of a type by their JSON names.
func fieldsOf(typ reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}

// each calls do with the words of what is asked for.
func each(s *sbatch.Spec, do func(w *word, v reflect.Value)) {
	given(words().spec, reflect.ValueOf(s).Elem(), do)
	if s.More != nil {
		given(words().more, reflect.ValueOf(s.More).Elem(), do)
	}
}

func given(list []word, in reflect.Value, do func(w *word, v reflect.Value)) {
	for i := range list {
		if f := in.Field(list[i].field); !f.IsZero() {
			do(&list[i], f)
		}
	}
}

// Describe sets what is asked for in a submission.
func Describe(d *wire.JobDesc, s *sbatch.Spec) {
	to := reflect.ValueOf(d).Elem()
	each(s, func(w *word, v reflect.Value) {
		if w.flag != "" {
			d.Flags = append(d.Flags, w.flag)
		}
		if w.desc >= 0 {
			put(to.Field(w.desc), v, w.prefix)
		}
	})
}

// Show returns a job's record with the rarer options that it was given. The usual ones are set by name where records are made: a listing makes a
// million of them.
func Show(j wire.Job, m *sbatch.More) wire.Job {
	to := reflect.ValueOf(&j).Elem()
	given(words().more, reflect.ValueOf(m).Elem(), func(w *word, v reflect.Value) {
		if w.job >= 0 {
			put(to.Field(w.job), v, w.prefix)
		}
	})
	return j
}

// Describe38 sets what is asked for in a submission of v0.0.38.
func Describe38(d map[string]any, s *sbatch.Spec) {
	each(s, func(w *word, v reflect.Value) {
		if w.v38 != "" {
			d[w.v38] = v.Interface()
		}
	})
}

// ReadMore sets the rarer options that a submission asks for. It returns the names of the fields whose values no option has.
func ReadMore(m *sbatch.More, d *wire.JobDesc) (left []string) {
	from, to := reflect.ValueOf(d).Elem(), reflect.ValueOf(m).Elem()
	flags := map[string]bool{}
	for _, w := range words().more {
		if w.flag != "" {
			flags[w.flag] = true
			if slices.Contains(d.Flags, w.flag) {
				to.Field(w.field).SetBool(true)
			}
		}
		if w.desc >= 0 && !take(to.Field(w.field), from.Field(w.desc), w.prefix) {
			name, _, _ := strings.Cut(from.Type().Field(w.desc).Tag.Get("json"), ",")
			left = append(left, name)
		}
	}
	for _, f := range d.Flags {
		if !flags[f] {
			left = append(left, "flags "+f)
		}
	}
	return left
}

// NoValue is the least of the numbers by which Slurm says that there is none, in 16 bits.
const NoValue = math.MaxUint16 - 1

// take sets a field of ours to a value of slurmrestd's; false: no option has such a value.
func take(to, v reflect.Value, prefix string) bool {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case string:
		var items []string
		for item := range strings.SplitSeq(x, ",") {
			item, has := strings.CutPrefix(strings.NewReplacer("gres:", "gres/", "gpu=", "gpu:").Replace(item), prefix)
			if !has && x != "" {
				return false
			}
			items = append(items, item)
		}
		if x = strings.Join(items, ","); to.Kind() == reflect.String {
			to.SetString(x)
			return true
		}
		n, err := strconv.Atoi(x)
		to.SetInt(int64(n))
		return err == nil || x == ""
	case wire.Number:
		if x.Set && !x.Infinite && x.Number < NoValue {
			to.SetInt(x.Number)
		}
		return x.Number >= 0
	case int:
		if x < NoValue || to.Type() == reflect.TypeFor[sbatch.MemMiB]() {
			to.SetInt(int64(x))
		}
		return x >= 0
	}
	to.Set(v.Convert(to.Type()))
	return true
}

// put sets a field of slurmrestd's to a value of ours.
func put(to, v reflect.Value, prefix string) {
	switch to.Interface().(type) {
	case string:
		switch text := fmt.Sprint(v.Interface()); {
		case strings.HasPrefix(prefix, "gres/"):
			to.SetString(gres.Prefixed(prefix, text))
		default:
			to.SetString(prefix + text)
		}
	case wire.Number:
		to.Set(reflect.ValueOf(wire.Num(v.Int())))
	case *bool, *int:
		if v.Kind() != reflect.Pointer {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p
		}
		to.Set(v)
	default:
		to.Set(v.Convert(to.Type()))
	}
}

// Lacking38 are sbatch's options that v0.0.38 has no word for, and later versions have.
func Lacking38() (options []string) {
	for _, w := range words().more {
		if (w.desc >= 0 || w.flag != "") && w.v38 == "" {
			tag := reflect.TypeFor[sbatch.More]().Field(w.field).Tag
			options = append(options, sbatch.OptionOf(tag))
		}
	}
	return options
}

// TRESPerNode are the resources of each node, in sbatch's order: the later one counts.
func TRESPerNode(s *sbatch.Spec) string {
	return Joined(gres.Prefixed("gres/gpu:", s.GPUsPerNode), gres.Prefixed("gres/", s.GRES))
}

// Profile is what is measured of a job, in slurmrestd's words.
func Profile(m *sbatch.More) wire.Strings {
	if m.Profile == "" {
		return nil
	}
	return strings.Split(strings.ToUpper(m.Profile), ",")
}

// Joined joins two lists with commas.
func Joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// Read sets the usual options that a submission asks for, but for those with a prefix: their values are checked by who reads them.
func Read(s *sbatch.Spec, d *wire.JobDesc) {
	from, to := reflect.ValueOf(d).Elem(), reflect.ValueOf(s).Elem()
	for _, w := range words().spec {
		if w.desc < 0 || w.prefix != "" {
			continue
		}
		v, into := from.Field(w.desc), to.Field(w.field)
		if v.Kind() == reflect.Pointer && into.Kind() != reflect.Pointer {
			v = v.Elem()
		}
		if v.IsValid() {
			into.Set(v)
		}
	}
}
