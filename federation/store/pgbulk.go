package store

import (
	"fmt"
	"strings"
)

// Statements that one submission runs, and many of which travel together: to the server one statement with arrays costs a third of as many. Each is what its
// statement for one row is, with %s for the rows.
var bulk = map[string]string{
	insertNewJob:  ofRows(insertNewJob),
	insertPayload: ofRows(insertPayload),
	insertKey:     ofRows(insertKey),
	addHolding:    "INSERT INTO holdings (uid, bytes) SELECT uid, CAST(SUM(bytes) AS BIGINT) FROM %s AS n (uid, bytes) GROUP BY uid",
}

func ofRows(insert string) string {
	into, _, _ := strings.Cut(insert, " VALUES ")
	return into + " SELECT * FROM %s"
}

// grouped makes one statement of those of the queue that do the same, where the first of them stands. Nobody waits for the outcome of one of them, and they are
// of different jobs: what is between them does not depend on their order.
func grouped(queue []queued) []queued {
	rows := map[string][]int{}
	for i := range queue {
		if _, ok := bulk[queue[i].text]; ok && queue[i].done == nil {
			rows[queue[i].text] = append(rows[queue[i].text], i)
		}
	}
	out := make([]queued, 0, len(queue))
	for i, q := range queue {
		same := rows[q.text]
		switch {
		case q.done != nil || len(same) == 0 || len(same) == 1 && q.text != addHolding:
			out = append(out, q)
		case same[0] == i:
			all := make([][]any, len(same))
			for n, at := range same {
				all[n] = queue[at].args
			}
			out = append(out, inArrays(q.text, all))
		}
	}
	return out
}

// inArrays is one statement for several rows of one text.
func inArrays(text string, rows [][]any) queued {
	columns := len(rows[0])
	args, names := make([]any, columns), make([]string, columns)
	for c := range columns {
		switch rows[0][c].(type) {
		case int64:
			args[c], names[c] = columnOf[int64](rows, c), "bigint"
		case string:
			args[c], names[c] = columnOf[string](rows, c), "text"
		case bool:
			args[c], names[c] = columnOf[bool](rows, c), "boolean"
		case []byte:
			args[c], names[c] = columnOf[[]byte](rows, c), "bytea"
		default:
			panic(fmt.Sprintf("store: a column of type %T", rows[0][c]))
		}
		names[c] = fmt.Sprintf("$%d::%s[]", c+1, names[c])
	}
	return queued{text: fmt.Sprintf(bulk[text], "unnest("+strings.Join(names, ", ")+")"), args: args}
}

func columnOf[T any](rows [][]any, c int) []T {
	all := make([]T, len(rows))
	for i := range rows {
		all[i] = rows[i][c].(T)
	}
	return all
}
