package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"fsub/federation/journal"
	"fsub/federation/predict"
)

var _ predict.RunStore = (*Store)(nil)

const (
	insertRunLength  = "INSERT INTO run_lengths (start, seconds, ending, groups) VALUES ($1, $2, $3, $4)"
	selectRunLengths = "SELECT start, seconds, ending, groups FROM run_lengths ORDER BY seq"
	deleteRunLengths = "DELETE FROM run_lengths WHERE seq <= (SELECT max(seq) FROM run_lengths) - $1"
)

func runLengthSteps(b *journal.Batch, steps []step) []step {
	for i := range b.Lengths {
		r := &b.Lengths[i]
		groups := make([]byte, 0, 8*len(r.Groups))
		for _, g := range r.Groups {
			groups = binary.LittleEndian.AppendUint64(groups, g)
		}
		steps = append(steps, step{insertRunLength, []any{nanos(r.Start), r.Seconds, int64(r.Ending), groups}, "length of a run", 0, journal.Change{}})
	}
	return steps
}

// RunLengths implements [predict.RunStore].
func (s *past) RunLengths(ctx context.Context, limit int) ([]predict.RunLength, error) {
	err := s.writer.submit(ctx, func(t *tx) error {
		_, err := t.exec(deleteRunLengths, int64(limit))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("delete old lengths of runs: %w", err)
	}
	all, err := query(ctx, s.readers, func(r *row) predict.RunLength {
		l := predict.RunLength{Start: r.time(), Seconds: take[float64](r), Ending: predict.RunEnding(take[int64](r))}
		for b := r.bytes(); len(b) >= 8; b = b[8:] {
			l.Groups = append(l.Groups, binary.LittleEndian.Uint64(b))
		}
		return l
	}, selectRunLengths)
	if err != nil {
		return nil, fmt.Errorf("read the lengths of runs: %w", err)
	}
	return all, nil
}
