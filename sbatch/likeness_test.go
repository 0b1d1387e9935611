package sbatch

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMatters: every option says where it counts. One that a site may lack counts by being given, at the least.
func TestMatters(t *testing.T) {
	for i := range options {
		switch o := &options[i]; {
		case o.to == unsaid:
			t.Errorf("--%s: the table does not say where it matters", o.name)
		case o.to != keyRows()[o.name].to:
			t.Errorf("--%s: its rows differ in where it matters", o.name)
		}
	}
	for _, o := range fedOptions {
		if o.to == unsaid {
			t.Errorf("--fed-%s: the table does not say where it matters", o.name)
		}
	}
	for _, l := range lackable {
		name, _, _ := strings.Cut(l.option, "=")
		if !keyRows()[name].to.counts() {
			t.Errorf("--%s: a site may lack it, and it does not count for placement", name)
		}
	}
	if len(options) > keyFed {
		t.Errorf("%d options, and keys have room for %d", len(options), keyFed)
	}
}

// fieldOptions are the options that fields belong to, where that is not what Options writes first.
var fieldOptions = map[string]string{"NodeSizes": "nodes"}

// unwritten are fields that no option sets by itself.
var unwritten = []string{"Command", "Digest", "SubmitLine"}

// TestFieldsMatter sets one field after the other: each belongs to an option, and the key of likeness tells of it as that option's word says.
func TestFieldsMatter(t *testing.T) {
	none := string((&Spec{}).Likeness(nil))
	seen := map[matter]int{}
	each(t, func(field string, set func(s *Spec)) {
		var s Spec
		set(&s)
		var to matter
		switch options := s.Options(); {
		case slices.Contains(unwritten, field):
			to = display
		case len(options) == 0 && fieldOptions[field] == "":
			t.Errorf("no option writes the field %s: where does it matter?", field)
			return
		case fieldOptions[field] != "":
			to = keyRows()[fieldOptions[field]].to
		default:
			name, _, _ := strings.Cut(options[0][2:], "=")
			to = keyRows()[name].to
		}
		seen[to]++
		if field == "Array" {
			return // counted apart
		}
		if got := string(s.Likeness(nil)) != none; got != to.counts() {
			t.Errorf("the field %s is told of by the key: %v", field, got)
		}
	})
	if len(seen) != 5 {
		t.Errorf("fields matter to %v only", slices.Collect(maps.Keys(seen)))
	}
}

// each calls do for all fields of a Spec and of what belongs to it, with a function that sets one.
func each(t *testing.T, do func(field string, set func(*Spec))) {
	roots := []struct {
		typ reflect.Type
		of  func(*Spec) reflect.Value
	}{
		{reflect.TypeFor[Spec](), func(s *Spec) reflect.Value { return reflect.ValueOf(s).Elem() }},
		{reflect.TypeFor[More](), func(s *Spec) reflect.Value { s.More = new(More); return reflect.ValueOf(s.More).Elem() }},
		{reflect.TypeFor[Fed](), func(s *Spec) reflect.Value { s.Fed = new(Fed); return reflect.ValueOf(s.Fed).Elem() }},
	}
	for _, r := range roots {
		for i := range r.typ.NumField() {
			f := r.typ.Field(i)
			if slices.Contains([]string{"More", "Fed", "Plugin", "Het"}, f.Name) {
				continue // by themselves
			}
			do(f.Name, func(s *Spec) {
				v := r.of(s).Field(i)
				switch {
				case f.Name == "MinNodes" || f.Name == "MaxNodes":
					s.MinNodes, s.MaxNodes = 2, 2
				case f.Name == "SwitchesWait":
					s.Switches, s.SwitchesWait = 1, time.Minute
				case f.Type == reflect.TypeFor[time.Duration]():
					v.SetInt(int64(time.Hour))
				case f.Type == reflect.TypeFor[time.Time]():
					v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
				case f.Type == reflect.TypeFor[*bool]():
					v.Set(reflect.ValueOf(new(bool)))
				case f.Type == reflect.TypeFor[*Signal]():
					v.Set(reflect.ValueOf(&Signal{Name: "USR1"}))
				case f.Type == reflect.TypeFor[*Pack]():
					v.Set(reflect.ValueOf(&Pack{Size: 2}))
				case f.Type == reflect.TypeFor[*Retry]():
					v.Set(reflect.ValueOf(&Retry{Most: 1}))
				case f.Type == reflect.TypeOf(Fed{}.StageIn):
					v.Set(reflect.ValueOf([]Stage{{From: "a"}}).Convert(f.Type))
				case f.Type == reflect.TypeOf(Fed{}.Inputs):
					v.Set(reflect.ValueOf([]Dataset{{Bytes: 1, At: []string{"x"}}}).Convert(f.Type))
				case f.Type == reflect.TypeOf(Fed{}.Keep):
					v.Set(reflect.ValueOf([]string{"x"}).Convert(f.Type))
				case f.Type == reflect.TypeFor[[]string]():
					v.Set(reflect.ValueOf([]string{"x"}))
				case f.Type == reflect.TypeFor[YesNo]():
					v.SetString(string(Yes))
				case v.CanInt():
					v.SetInt(1)
				case v.CanFloat():
					v.SetFloat(1)
				case v.Kind() == reflect.String:
					v.SetString("x")
				case v.Kind() == reflect.Bool:
					v.SetBool(true)
				default:
					t.Errorf("the field %s has a type that this test knows nothing of: %s", f.Name, f.Type)
				}
			})
		}
	}
}

// TestLikeness: no two of these are alike, though their words are the same when put together.
func TestLikeness(t *testing.T) {
	specs := []Spec{
		{}, {GPUs: "2"}, {GPUsPerNode: "2"}, {MinNodes: 2}, {MinNodes: 2, MaxNodes: 2}, {MinNodes: 2, MaxNodes: 3}, {TimeLimit: time.Minute}, {TimeLimit: time.Minute + 1},
		{TimeMin: time.Minute}, {TimeLimit: Unlimited}, {MemPerNode: MemAll}, {MemPerNode: 1}, {Partition: "a", QOS: "b"}, {Partition: "ab"},
		{Fed: &Fed{Sites: []string{"a", "b"}}}, {Fed: &Fed{Sites: []string{"a,b"}}}, {Fed: &Fed{NotSites: []string{"a", "b"}}}, {Switches: 1}, {Switches: 1, SwitchesWait: time.Second},
		{Plugin: []PluginOption{{Name: "x"}}}, {Plugin: []PluginOption{{Name: "y"}}}, {Het: []Spec{{}}}, {Het: []Spec{{}, {}}}, {Het: []Spec{{Account: "a"}}}, {Het: []Spec{{GPUs: "2"}, {}}},
		{Het: []Spec{{}, {GPUs: "2"}}}, {Signal: &Signal{Name: "INT"}}, {More: &More{NodeSizes: "1,2"}}, {More: &More{WCKey: "a"}}, {More: &More{Overcommit: true}},
	}
	keys := map[string]int{}
	for i := range specs {
		key := string(specs[i].Likeness(nil))
		if k, there := keys[key]; there {
			t.Errorf("%+v and %+v are alike", specs[k], specs[i])
		}
		keys[key] = i
	}
	for _, pair := range [][2]Spec{
		{{Name: "a", Account: "b", Comment: "c", Array: "1-2"}, {}}, {{More: &More{WCKey: "a"}}, {More: &More{WCKey: "b"}}}, {{WorkDir: "/a"}, {WorkDir: "/b"}},
		{{Plugin: []PluginOption{{"x", "1"}}}, {Plugin: []PluginOption{{"x", "2"}}}}, {{More: &More{Profile: "task"}}, {}},
	} {
		if string(pair[0].Likeness(nil)) != string(pair[1].Likeness(nil)) {
			t.Errorf("%+v and %+v are not alike", pair[0], pair[1])
		}
	}
}

func BenchmarkLikeness(b *testing.B) {
	plain := Spec{Name: "job", Partition: "gpu", MinNodes: 1, MaxNodes: 1, CPUsPerTask: 11, GPUsPerNode: "h100:1", MemPerGPU: 100 << 10, TimeLimit: time.Hour, WorkDir: "/home/alice",
		Output: "%j.out"}
	more := plain
	more.More = &More{Licenses: "matlab:1", WCKey: "x"}
	for name, s := range map[string]*Spec{"plain": &plain, "more": &more} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var key []byte
			for b.Loop() {
				key = s.Likeness(key[:0])
			}
		})
	}
}
