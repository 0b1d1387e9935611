package demand

import (
	"runtime"
	"sync"
	"weak"

	"fsub/sbatch"
)

// known are the demands that somebody holds, by their keys of likeness.
var known = struct {
	sync.RWMutex
	byKey map[string]weak.Pointer[Demand]
	last  uint64 // ID
}{byKey: map[string]weak.Pointer[Demand]{}}

// Of is what s asks for. As long as somebody holds it, it is the same pointer for all that is alike.
func Of(s *sbatch.Spec) *Demand {
	var room [256]byte
	key := s.Likeness(room[:0])
	known.RLock()
	d := known.byKey[string(key)].Value()
	known.RUnlock()
	if d != nil {
		return d
	}
	made := read(s)
	text := string(key)
	known.Lock()
	defer known.Unlock()
	if d := known.byKey[text].Value(); d != nil { // meanwhile
		return d
	}
	known.last++
	made.id, made.text = known.last, len(text)
	known.byKey[text] = weak.Make(made)
	runtime.AddCleanup(made, forget, text)
	return made
}

// forget drops a demand that nobody holds.
func forget(key string) {
	known.Lock()
	defer known.Unlock()
	if p, there := known.byKey[key]; there && p.Value() == nil {
		delete(known.byKey, key)
	}
}
