package web

import (
	"strings"
	"time"

	"slices"

	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// numeric are the heads of columns with numbers, which stand to the right.
var numeric = map[string]bool{"$/H": true, "TOTAL": true, "FREE CPUS": true, "CPU HOURS": true, "LAST MONTH": true, "RESERVED": true, "PRICE": true, "MORE": true, "IDLE": true, "GPUS": true, "FREE": true, "RUNNING": true, "BOUND": true, "JOBS": true, "SETTLED": true, "FAILED": true, "COUNT": true, "RESTARTS": true,
	"COST": true, "AGE": true, "RUNS": true, "LIMIT": true, "USED": true, "SPENT": true, "MACHINES": true, "CPUS": true, "PENDING": true, "SHARE": true, "GPU HOURS": true, "LEFT": true}

// nounTable is the table that fed prints of things, as HTML and for .csv. Columns that are empty in all rows are left out.
func nounTable[T, Q any](caption string, n *v1.Noun[T, Q], all []T, without ...string) (Node, [][]string) {
	var columns []v1.Column[T]
	for _, c := range n.Columns {
		if !slices.Contains(without, c.Head) {
			columns = append(columns, c)
		}
	}
	rows := [][]string{nil}
	for _, c := range columns {
		rows[0] = append(rows[0], c.Head)
	}
	for i := range all {
		var row []string
		for _, c := range columns {
			row = append(row, c.Cell(&all[i]))
		}
		rows = append(rows, row)
	}
	return textTable(caption, rows), rows
}

// textTable is a table of texts, the head first. The first cell of a row names it.
func textTable(caption string, rows [][]string) Node {
	if len(rows) < 2 {
		return E("p", Class("empty"), caption+": none.")
	}
	used := make([]bool, len(rows[0]))
	for _, row := range rows[1:] {
		for i, c := range row {
			used[i] = used[i] || c != ""
		}
	}
	head := E("tr")
	for i, h := range rows[0] {
		if used[i] {
			head.Children = append(head.Children, E("th", A("scope", "col"), classOf(h), h))
		}
	}
	body := E("tbody")
	seen := map[string]int{}
	for _, row := range rows[1:] {
		key := caption + "/" + row[0]
		if seen[key]++; seen[key] > 1 {
			key += "#" + strings.Repeat("+", seen[key]-1)
		}
		tr := E("tr", A("data-row", key))
		for i, c := range row {
			switch {
			case !used[i]:
			case i == 0:
				tr.Children = append(tr.Children, E("th", A("scope", "row"), A("data-label", rows[0][i]), shownCell(key, rows[0][i], c)))
			default:
				tr.Children = append(tr.Children, E("td", classOf(rows[0][i]), A("data-label", rows[0][i]), shownCell(key, rows[0][i], c)))
			}
		}
		body.Children = append(body.Children, tr)
	}
	return scrolled(caption, E("table", E("caption", Class("unseen"), caption), E("thead", head), body))
}

// scrolled lets a table that is too wide move by itself, by the keyboard too.
func scrolled(caption string, table *Element) Node {
	return E("div", Class("scroll"), A("role", "region"), A("aria-label", caption+", table"), A("tabindex", "0"), table)
}

func classOf(head string) any {
	if numeric[head] {
		return Class("n")
	}
	return nil
}

func shownCell(row, head, text string) Node {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment(t)
	}
	class := ""
	if head == "STATE" || head == "HEALTH" {
		class = "state " + wordClass(text)
	}
	return cell(row+"/"+head, class, text)
}

// wordClass is the colour of a word of a site or a node.
func wordClass(s string) string {
	switch {
	case s == "ok" || s == "COMPLETED" || s == "ACTIVE" || strings.HasPrefix(s, "IDLE"):
		return "good"
	case s == "RUNNING" || s == "STARTED" || s == "LAUNCHED" || strings.HasPrefix(s, "ALLOC") || strings.HasPrefix(s, "MIX"):
		return "runs"
	case strings.Contains(s, "DOWN") || strings.Contains(s, "FAIL") || s == "TIMEOUT" || s == "OUT_OF_MEMORY" || strings.Contains(s, "LOST") || strings.Contains(s, "NO "):
		return "bad"
	}
	return "waits"
}

// section is a part of a page with a heading.
func section(title string, parts ...any) *Element {
	id := strings.ToLower(strings.ReplaceAll(title, " ", "-"))
	return E("section", append([]any{A("aria-labelledby", id), E("h2", A("id", id), title)}, parts...)...)
}

// facts is a list of names and values.
func facts(pairs ...any) *Element {
	dl := E("dl")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			continue
		}
		dl.Children = append(dl.Children, E("div", E("dt", pairs[i]), E("dd", pairs[i+1])))
	}
	return dl
}
