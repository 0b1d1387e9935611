package sbatch

import (
	"encoding/binary"
	"sync"
)

// Likeness appends to b a key that is equal for jobs that placement need not tell apart, but for
// who their users are, how many tasks their arrays have, and which sites see their files. What
// counts is said in the option table, so that the key follows from it.
func (s *Spec) Likeness(b []byte) []byte {
	w := words{key: b, keyed: true}
	one := *s
	one.Array, one.Plugin = "", nil // what is left of an array changes as its tasks go
	one.write(&w)
	for _, o := range s.Plugin {
		w.put(keyPlugin, o.Name)
	}
	for i := range s.Het {
		w.put(keyComponent, s.Het[i].Account) // it is not the job's
		w.key = s.Het[i].Likeness(w.key)
	}
	return w.key
}

// counts reports whether something of an option is part of a likeness.
func (m matter) counts() bool { return m == placement || m == presence }

// keyRow is an option in a key.
type keyRow struct {
	id uint8
	to matter
}

// What stands in a key beside the options of the table, whose ids are their indices.
const (
	keyFed       = 200 // + index in fedOptions
	keyPlugin    = 254
	keyComponent = 255
)

// keyRows are all options by their names. Of a name with several rows the first one counts.
var keyRows = sync.OnceValue(func() map[string]keyRow {
	rows := make(map[string]keyRow, len(options)+len(fedOptions))
	for i := range options {
		if _, there := rows[options[i].name]; !there {
			rows[options[i].name] = keyRow{uint8(i), options[i].to}
		}
	}
	for i := range fedOptions {
		rows["fed-"+fedOptions[i].name] = keyRow{uint8(keyFed + i), fedOptions[i].to}
	}
	return rows
})

// addKey adds an option to the key, as far as it counts.
func (w *words) addKey(name, v string) {
	switch row := keyRows()[name]; row.to {
	case placement:
		w.put(row.id, v)
	case presence:
		w.put(row.id, "")
	}
}

func (w *words) put(id uint8, v string) {
	w.key = binary.AppendUvarint(append(w.key, id), uint64(len(v)))
	w.key = append(w.key, v...)
}
