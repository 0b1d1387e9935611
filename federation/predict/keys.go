package predict

import (
	"fmt"
	"hash/fnv"
	"strings"

	"fsub/federation"
)

// levels is how many groups a job is in at most.
const levels = 7

// Keys are the groups that a job belongs to, from narrow to wide; 0: it is in none at that level. They are the same in every process, for the store
// keeps them.
type Keys [levels]uint64

// Kind is what is known of a job before it runs. What is empty is not known.
type Kind struct {
	User  string
	Name  string // of the job
	Size  string // what it asks for of nodes, CPUs and devices
	Shape string // Size, and its time limit, partition and features
}

// Keys returns the groups of jobs of that kind.
func (k Kind) Keys() (keys Keys) {
	for level, parts := range [levels][]string{{k.User, masked(k.Name), k.Size}, {k.User, masked(k.Name)}, {k.User, k.Shape}, {k.User, k.Size}, {k.User}, {k.Size}, nil} {
		h := fnv.New64a()
		known := true
		h.Write([]byte{byte(level)})
		for _, p := range parts {
			known = known && p != ""
			h.Write([]byte(p))
			h.Write([]byte{0})
		}
		if known {
			keys[level] = max(h.Sum64(), 1)
		}
	}
	return keys
}

// masked is a name without its numbers: "fold_12" and "fold_7" are alike.
func masked(name string) string {
	var b strings.Builder
	digits := false
	for _, r := range name {
		d := r >= '0' && r <= '9'
		switch {
		case !d:
			b.WriteRune(r)
		case !digits:
			b.WriteByte('#')
		}
		digits = d
	}
	return b.String()
}

// sizes are what a demand says of a job's size and shape.
type sizes struct{ size, shape string }

// Keys returns the groups of a job of the federation.
func (b *Book) Keys(j *federation.Job) Keys {
	d := j.Needs()
	b.mu.Lock()
	defer b.mu.Unlock()
	z, ok := b.sizes[d]
	if !ok {
		z.size = fmt.Sprint(d.MinNodes, d.MaxNodes, d.Tasks, d.TasksPerNode, d.CPUsPerTask, d.GRES)
		z.shape = fmt.Sprint(z.size, d.TimeLimit, d.Partitions, d.Features)
		if len(b.sizes) >= maxGroups {
			clear(b.sizes)
		}
		b.sizes[d] = z
	}
	return Kind{User: j.User, Name: j.Spec.Name, Size: z.size, Shape: z.shape}.Keys()
}
