package slurm

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"fsub/federation"
	"fsub/slurm/wire"
)

// list is a list that a site is asked for again and again, and that seldom changes: nodes, partitions, the states of jobs. What an element was
// read as is kept beside the hash of its text, and only what is written differently than the last time is read again. A look at nodes
// of which none has changed takes a twentieth of the time that decoding them does.
type list[W, T any] struct {
	op, path string
	query    url.Values
	key      string // of the list in the answer

	mu   sync.Mutex
	last elements[T]
}

// elements are what a list was read as.
type elements[T any] struct {
	sums   []uint64
	values []T
	done   []T // what was made of values for those who asked
}

var listSeed = maphash.MakeSeed()

// asked is one question for a list. into is the answer, and its elements those that had to be read.
type asked[W, T any] struct {
	into  answer
	found func() []W // the elements in into
	read  func(*W) (T, error)
	// finish makes what is returned of all values, if any has changed; nil: the values themselves. It does not change them.
	finish func([]T) []T
}

// kept is what the last answer was read as; nil: there was none.
func (l *list[W, T]) kept() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.done
}

// get asks the site. What it returns is shared: nobody changes it. As long as nothing changes it is the same slice.
func (l *list[W, T]) get(ctx context.Context, at *site, a asked[W, T]) ([]T, error) {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	var sums []uint64 // nil: the answer is not as expected, and is read whole
	var changed []int
	r := request{op: l.op, method: http.MethodGet, path: l.path, query: l.query, reduce: func(body []byte) []byte {
		sums, changed = nil, nil
		all, from, to, ok := wire.Elements(body, l.key)
		if !ok {
			return body
		}
		sums = make([]uint64, len(all))
		rest := slices.Clone(body[:from])
		for i, e := range all {
			sums[i] = maphash.Bytes(listSeed, e)
			if i < len(last.sums) && last.sums[i] == sums[i] {
				continue
			}
			if len(changed) > 0 {
				rest = append(rest, ',')
			}
			rest, changed = append(rest, e...), append(changed, i)
		}
		return append(rest, body[to:]...)
	}}
	if err := at.c.do(ctx, r, a.into); err != nil {
		return nil, err
	}
	for _, e := range a.into.Head().Errors {
		return nil, fmt.Errorf("site %s: %s: %w", at.cfg.Name, l.op, slurmError(federation.ErrUnavailable, e, ""))
	}
	at.remark(a.into.Head())
	fresh := a.found()
	if sums != nil && len(changed) == 0 && len(sums) == len(last.sums) {
		return last.done, nil
	}
	next := elements[T]{sums: sums}
	if sums == nil || len(fresh) != len(changed) {
		next.sums, changed = nil, nil
		for i := range fresh {
			changed = append(changed, i)
		}
		next.values = make([]T, len(fresh))
	} else {
		next.values = slices.Clone(last.values[:min(len(last.values), len(sums))])
		next.values = append(next.values, make([]T, len(sums)-len(next.values))...)
	}
	for k, i := range changed {
		var err error
		if next.values[i], err = a.read(&fresh[k]); err != nil {
			return nil, err
		}
	}
	if next.done = next.values; a.finish != nil {
		next.done = a.finish(next.values)
	}
	l.mu.Lock()
	l.last = next
	l.mu.Unlock()
	return next.done, nil
}
