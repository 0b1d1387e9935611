package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

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
func textTable(caption string, rows [][]string) Node { return linkedTable(caption, rows, nil) }

// linkedTable is a textTable whose rows lead somewhere: href is where the ith does, "" if nowhere.
func linkedTable(caption string, rows [][]string, href func(i int) string) Node {
	if len(rows) < 2 {
		return E("p", Class("empty"), caption+": none.")
	}
	head, kinds := E("tr"), make([]kindOf, len(rows[0]))
	for i, h := range rows[0] {
		if kinds[i] = kindOfColumn(rows[1:], i); kinds[i] != empty {
			head.Children = append(head.Children, E("th", A("scope", "col"), kinds[i].class(), headWord(h)))
		}
	}
	body := E("tbody")
	keys := rowKeys(caption, rows[1:], kinds)
	for n, row := range rows[1:] {
		key := keys[n]
		tr := E("tr", A("data-row", key))
		for i, c := range row {
			if kinds[i] == empty {
				continue
			}
			cell := shownCell(key, rows[0][i], c)
			if i > 0 {
				tr.Children = append(tr.Children, E("td", kinds[i].class(), A("data-label", headWord(rows[0][i])), cell))
				continue
			}
			if href != nil && href(n) != "" {
				cell = E("a", A("href", href(n)), cell)
			}
			tr.Children = append(tr.Children, E("th", A("scope", "row"), A("data-label", headWord(rows[0][i])), cell))
		}
		body.Children = append(body.Children, tr)
	}
	return scrolled(caption, E("table", E("caption", Class("unseen"), caption), E("thead", head), body))
}

// rowKeys name the rows of a table, each by its first cell, or where several have the same by all words in it: so that the page knows them again.
func rowKeys(caption string, rows [][]string, kinds []kindOf) []string {
	firsts, seen := map[string]int{}, map[string]int{}
	for _, row := range rows {
		firsts[row[0]]++
	}
	keys := make([]string, len(rows))
	for n, row := range rows {
		key := caption + "/" + row[0]
		for i := 1; i < len(row) && firsts[row[0]] > 1; i++ {
			if kinds[i] == word {
				key += "/" + row[i]
			}
		}
		if seen[key]++; seen[key] > 1 {
			key += "#" + strconv.Itoa(seen[key])
		}
		keys[n] = key
	}
	return keys
}

// scrolled lets a table that is too wide move by itself, by the keyboard too.
func scrolled(caption string, table *Element) Node {
	return E("div", Class("scroll"), A("role", "region"), A("aria-label", caption+", table"), A("tabindex", "0"), table)
}

// kindOf is what the cells of a column are.
type kindOf int

const (
	empty  kindOf = iota // all of them: it is left out
	number               // an amount, with or without a unit: to the right
	word
)

func (k kindOf) class() any {
	if k == number {
		return Class("n")
	}
	return nil
}

// amount is how numbers look in tables: 12, $0.05, <$0.01, 12 %, 3h10m, 0 min, 132 d old?.
var amount = regexp.MustCompile(`^<?-?\$?\d+(\.\d+)?([dhms]\d+[hms]?|[dhms]| ?(%|min|h|MiB|GiB|gres/\S+ min|\w+ min|d old\?))?$`)

// kindOfColumn says what the ith cells of rows are. The first of a row is its name.
func kindOfColumn(rows [][]string, i int) kindOf {
	kind := empty
	for _, row := range rows {
		switch c := row[i]; {
		case c == "" || c == "-":
		case i > 0 && amount.MatchString(c):
			if kind == empty {
				kind = number
			}
		default:
			return word
		}
	}
	if i == 0 {
		return word
	}
	return kind
}

// headWords are words of heads that are not written as other words are.
var headWords = map[string]string{"GPU": "GPU", "GPUS": "GPUs", "CPU": "CPU", "CPUS": "CPUs", "JOBID": "Job", "ID": "ID", "QOS": "QOS", "$/H": "$/h", "TRES": "TRES"}

// headWord writes the head of a column, which fed writes in capitals, as the page does: "Free CPUs".
func headWord(head string) string {
	words := strings.Fields(strings.ReplaceAll(head, "_", " "))
	for i, w := range words {
		switch known := headWords[w]; {
		case known != "":
			words[i] = known
		case i == 0:
			words[i] = w[:1] + strings.ToLower(w[1:])
		default:
			words[i] = strings.ToLower(w)
		}
	}
	return strings.Join(words, " ")
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
	case strings.Contains(s, "DRAIN"):
		return "waits"
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
