package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/predict"
)

var _ predict.WaitStore = (*Store)(nil)

const (
	insertPastWait  = "INSERT INTO past_waits (site, since, seconds, traits) VALUES ($1, $2, $3, $4)"
	selectPastWaits = "SELECT site, since, seconds, traits FROM past_waits ORDER BY seq"
	deletePastWaits = `DELETE FROM past_waits WHERE seq IN
		(SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY site ORDER BY seq DESC) AS nth FROM past_waits) AS numbered WHERE nth > $1)`
)

func pastWaitSteps(b *journal.Batch, steps []step) []step {
	for i := range b.Waits {
		w := &b.Waits[i]
		traits := make([]byte, 0, 4*len(w.Traits))
		for _, t := range w.Traits {
			traits = binary.LittleEndian.AppendUint32(traits, t)
		}
		steps = append(steps, step{insertPastWait, []any{string(w.Site), nanos(w.Since), w.Seconds, traits}, "wait at a site", 0, journal.Change{}})
	}
	return steps
}

// PastWaits implements [predict.WaitStore].
func (s *past) PastWaits(ctx context.Context, ofEach int) ([]predict.PastWait, error) {
	err := s.writer.submit(ctx, func(t *tx) error {
		_, err := t.exec(deletePastWaits, int64(ofEach))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("delete old waits: %w", err)
	}
	all, err := query(ctx, s.readers, func(r *row) predict.PastWait {
		w := predict.PastWait{Site: federation.SiteName(r.text()), Since: r.time(), Seconds: take[float64](r)}
		for b := r.bytes(); len(b) >= 4; b = b[4:] {
			w.Traits = append(w.Traits, binary.LittleEndian.Uint32(b))
		}
		return w
	}, selectPastWaits)
	if err != nil {
		return nil, fmt.Errorf("read waits: %w", err)
	}
	return all, nil
}
