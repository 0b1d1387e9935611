package predict

import (
	"fmt"
	"hash/fnv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

// levels is how many groups a job is in at most.
const levels = 9

// Keys are the groups that a job belongs to, from narrow to wide; 0: it is in none at that level. They are the same in every process, for the store
// keeps them.
type Keys [levels]uint64

// Kind is what is known of a job before it runs. What is empty is not known.
type Kind struct {
	User   string
	Script string // a digest of what it runs
	Name   string // of the job, if somebody has given it one
	Size   string // what it asks for of nodes, CPUs and devices
	Shape  string // Size, and its time limit, partition and features
	Nodes  string // of Size, the nodes and devices
}

// Keys returns the groups of jobs of that kind. All but the last two are of jobs with the same nodes and devices at least: what runs on one CPU says nothing of how long something
// runs on eight GPUs.
func (k Kind) Keys() (keys Keys) {
	for level, parts := range [levels][]string{
		sameScript:      {k.User, k.Script, k.Size},
		sameNameAndSize: {k.User, masked(k.Name), k.Size},
		sameShape:       {k.User, k.Shape},
		sameSize:        {k.User, k.Size},
		sameNodes:       {k.User, k.Nodes},
		anyUser:         {k.Size},
		anyNodes:        {k.Nodes},
		allOfUser:       {k.User},
		anyRun:          nil,
	} {
		h := fnv.New64a()
		known := true
		h.Write([]byte{levelTags[level]})
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

// levelTags tell the keys of one level from those of another. They are never used again for another meaning: 1 was the user's runs of a name, of whatever size.
var levelTags = [levels]byte{sameScript: 7, sameNameAndSize: 0, sameShape: 2, sameSize: 3, sameNodes: 8, anyUser: 5, anyNodes: 9, allOfUser: 4, anyRun: 6}

// earlierLevels is where the keys stand that earlier versions have stored; -1: they mean nothing any more.
var earlierLevels = [...]level{sameNameAndSize, -1, sameShape, sameSize, allOfUser, anyUser, anyRun}

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
type sizes struct{ size, shape, nodes string }

// Keys returns the groups of a job of the federation.
func (b *Book) Keys(j *federation.Job) Keys {
	d := j.Needs()
	b.mu.Lock()
	defer b.mu.Unlock()
	z, ok := b.sizes[d]
	if !ok {
		z.size = fmt.Sprint(d.MinNodes, d.MaxNodes, d.Tasks, d.TasksPerNode, d.CPUsPerTask, d.GRES)
		z.shape = fmt.Sprint(z.size, d.TimeLimit, d.Partitions, d.Features)
		z.nodes = fmt.Sprint(d.MinNodes, d.MaxNodes, d.GRES)
		if len(b.sizes) >= maxGroups {
			clear(b.sizes)
		}
		b.sizes[d] = z
	}
	return Kind{User: j.User, Script: j.Spec.Digest, Name: givenName(j.Spec), Size: z.size, Shape: z.shape, Nodes: z.nodes}.Keys()
}

// givenName is a job's name if somebody has given it one, or the path of its script: others are sbatch's own words, which say nothing.
func givenName(s *sbatch.Spec) string {
	switch {
	case s.Command != "" && s.Name == s.Command[strings.LastIndexByte(s.Command, '/')+1:]:
		return s.Command
	case s.Command == "" && (s.Name == "wrap" || s.Name == "sbatch"):
		return ""
	}
	return s.Name
}
