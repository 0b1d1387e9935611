package health

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"fsub/federation"
)

// likes remember of some thousand kinds of jobs where the last few lived, and for how long. They are not stored: after a restart they are learnt anew.
type likes struct {
	byKey map[uint64]*like
	order []uint64 // oldest first; a key that is there twice counts by its last place
}

// like is a kind of jobs.
type like struct {
	lived []life
	seen  int // how often its key is in order
}

// life is one job's on one node.
type life struct {
	node federation.NodeID
	at   time.Time
	ran  time.Duration // 0: it did not complete
}

const (
	maxLikes = 4096
	maxLives = 16
)

func newLikes() likes { return likes{byKey: map[uint64]*like{}} }

func keyOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

func (l *likes) of(key string) *like { return l.byKey[keyOf(key)] }

// livedOn reports whether a job of the kind lived on a node.
func (l *likes) livedOn(key string, on federation.NodeID) bool {
	k := l.of(key)
	return k != nil && slices.ContainsFunc(k.lived, func(x life) bool { return x.node == on })
}

// elsewhere is on how many other nodes jobs of the kind lived after a time.
func (l *likes) elsewhere(key string, not federation.NodeID, since time.Time) int {
	k := l.of(key)
	if k == nil {
		return 0
	}
	nodes := map[federation.NodeID]bool{}
	for _, x := range k.lived {
		if x.node != not && x.at.After(since) {
			nodes[x.node] = true
		}
	}
	return len(nodes)
}

// slow notes a life, and reports whether it took half as long again as those of like jobs on five other nodes.
func (l *likes) slow(key string, is life, completed bool) bool {
	if !completed {
		is.ran = 0
	}
	id := keyOf(key)
	k := l.byKey[id]
	if k == nil {
		k = &like{}
		l.byKey[id] = k
	}
	var others []time.Duration
	nodes := map[federation.NodeID]bool{}
	for _, x := range k.lived {
		if x.node != is.node && x.ran > 0 {
			others = append(others, x.ran)
			nodes[x.node] = true
		}
	}
	k.lived = append(k.lived, is)
	if len(k.lived) > maxLives {
		k.lived = slices.Delete(k.lived, 0, 1)
	}
	l.use(id, k)
	if len(nodes) < 5 || is.ran < Early {
		return false
	}
	slices.SortFunc(others, cmp.Compare)
	return is.ran > others[len(others)/2]*3/2
}

// use keeps the kinds that were seen last.
func (l *likes) use(id uint64, k *like) {
	if k.seen > 0 && len(l.order) > 0 && l.order[len(l.order)-1] == id {
		return
	}
	k.seen++
	l.order = append(l.order, id)
	for len(l.byKey) > maxLikes || len(l.order) > 4*maxLikes {
		old := l.order[0]
		l.order = l.order[1:]
		if o := l.byKey[old]; o != nil {
			if o.seen--; o.seen == 0 {
				delete(l.byKey, old)
			}
		}
	}
}
