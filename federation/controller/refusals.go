package controller

import "sync"

// refusals keep why requests were not carried out, for those who wait for the answer. Only the newest are kept.
type refusals struct {
	mu   sync.Mutex
	why  map[int64]error
	seqs []int64
}

const maxRefusals = 1000

func (r *refusals) add(seq int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil {
		r.why = map[int64]error{}
	}
	if r.why[seq] = err; len(r.why) > maxRefusals {
		delete(r.why, r.seqs[0])
		r.seqs = r.seqs[1:]
	}
	r.seqs = append(r.seqs, seq)
}

// Refusal is why the request seq was not carried out, nil if it was or is not known to have been refused.
func (v *View) Refusal(seq int64) error {
	v.refused.mu.Lock()
	defer v.refused.mu.Unlock()
	return v.refused.why[seq]
}
