package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/ended"
	"fsub/federation/reasons"
)

// countedAtOnce is how many IDs are looked at in one statement: a count of millions holds no read transaction for long.
const countedAtOnce = 50_000

// countEnded counts the jobs of some IDs, a page of the table, by what lists tell apart. The account is the one that the job runs under, else the one that it asks for; that and the group are in the Spec.
const countEnded = "SELECT user_name, CASE WHEN account <> '' THEN account ELSE COALESCE(%[1]s ->> 'account', '') END, COALESCE(%[1]s -> 'fed' ->> 'group', ''), state, reason, site, COUNT(*) " +
	"FROM jobs WHERE id > $1 AND id <= $2 AND NOT live AND component = 0 AND array_whole = '' AND ($3 = '' OR user_name = $4) GROUP BY 1, 2, 3, 4, 5, 6"

// CountEnded implements [ended.Counter].
func (s *jobs) CountEnded(ctx context.Context, user string, take func([]ended.Count) error) error {
	spec := "spec" // SQLite reads JSON from text, and would make a number of a text that is cast
	if s.shared {
		spec = "CAST(spec AS json)"
	}
	text := fmt.Sprintf(countEnded, spec)
	ends, err := query(ctx, s.readers, func(r *row) [2]int64 { return [2]int64{r.int(), r.int()} }, "SELECT COALESCE((SELECT MIN(id) FROM jobs), 0), COALESCE((SELECT MAX(id) FROM jobs), 0)")
	if err != nil {
		return fmt.Errorf("count the jobs that have ended: %w", err)
	}
	for after, last := ends[0][0]-1, ends[0][1]; after < last; after += countedAtOnce {
		counts, err := query(ctx, s.readers, readEndedCount, text, after, after+countedAtOnce, user, user)
		if err != nil {
			return fmt.Errorf("count the jobs that have ended: %w", err)
		}
		if len(counts) == 0 {
			continue
		}
		if err := take(counts); err != nil {
			return err
		}
	}
	return nil
}

func readEndedCount(r *row) ended.Count {
	return ended.Count{User: r.word(), Account: r.word(), Group: r.word(), State: federation.State(r.word()), Reason: reasons.Reason(r.word()), Site: federation.SiteName(r.word()), Jobs: r.int()}
}
