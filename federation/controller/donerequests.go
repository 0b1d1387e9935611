package controller

// doneSeqs are the newest of the requests that were carried out, maxSeqs at least. They are done in any order: each waits for its own site.
type doneSeqs struct {
	last, before map[int64]struct{}
}

// maxSeqs are as many as one call to the API may write.
const maxSeqs = 100_000

func (d *doneSeqs) add(seq int64) {
	if d.last == nil || len(d.last) >= maxSeqs {
		d.last, d.before = map[int64]struct{}{}, d.last
	}
	d.last[seq] = struct{}{}
}

// missing are those of seqs that are not known to be done. It does not change seqs.
func (d *doneSeqs) missing(seqs []int64) (open []int64) {
	for _, seq := range seqs {
		_, last := d.last[seq]
		_, before := d.before[seq]
		if !last && !before {
			open = append(open, seq)
		}
	}
	return open
}
