package v1

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Noun is one kind of thing that the daemon lists: T as it is listed, Q what chooses them (see [ReadQuery]). The server's route, its part of
// the OpenAPI document and of docs/limits.md, the client's call and the table of "fed NOUN list" are made of its row, which stands beside T.
type Noun[T, Q any] struct {
	Path    string // of the list: "/fed/v1/reports"
	Who     Who    // may list them
	Doc     string // what the list is, in the OpenAPI document
	Columns []Column[T]
	Key     func(*T) string              // what names a thing: no two have the same. Pages of the list are in its order; nil: it has no pages
	Orders  map[string]func(*T) string   // other orders of pages, by the words that sort of Q takes: the text that counts first, before the key
	Usual   string                       // the one of them, with - before it from the last to the first, where a page asks for none; "": that of the keys
	Logged  bool                         // what changes the list is in the log of changes: its pages have a mark of it
	More    []Column[T]                  // those that are shown of a single thing, and in a list where they are asked for
	Sort    map[string]func(a, b *T) int // by the heads of columns that do not sort by what their cells say
	Empty   string                       // what fed says where there are none; "": nothing
}

// Owned is a noun of things that users add themselves: each has a name, and a user one of that name. Beside the list, POST to Path adds one in place of
// that of the same name, and DELETE of One removes it; "fed NOUN" has the verbs Add, list, show and Drop. What a user adds is read from the command
// line: see cli.AddVerbs for the tags of the fields of T.
type Owned[T any] struct {
	Noun[T, None]
	Word string // what one is called: "report". The path of one is /fed/v1/report/NAME
	Add  string // the verb that adds one: "save"
	Drop string // the verb that removes one; "": remove
	Most int    // how many a user may have
	// Key is where a thing says whose it is and what it is called.
	Key func(*T) (user, name *string)
	// About is what the audit log says of one that is added.
	About func(*T) string
}

// One is the path of the thing of that name.
func (n *Owned[T]) One(name string) string { return "/fed/v1/" + n.Word + "/" + name }

// Removes is the verb that removes one.
func (n *Owned[T]) Removes() string { return cmp.Or(n.Drop, "remove") }

// Column is one column of a noun's table.
type Column[T any] struct {
	Head string
	Cell func(*T) string // "" is shown as "-"
}

// key makes the key of a thing from names, of which the first counts first.
func key[S ~string](first S, others ...string) string {
	return strings.Join(append([]string{string(first)}, others...), "\x00")
}

// numberKey makes the key of a thing that has a number.
func numberKey[N ~int64](n N) string { return fmt.Sprintf("%020d", n) }

// dollarsKey makes the key of an amount, which is not negative.
func dollarsKey(usd float64) string { return fmt.Sprintf("%020.6f", usd) }

// moment is a time in a cell: in the reader's own zone, which it says.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.RFC3339)
}

// Age writes a time as people say it: 45s, 12m, 3h10m, 2d4h.
func Age(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// since is how long ago a time is; "" if it is not set.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Age(time.Since(t))
}

// count is a number in a cell that is empty for none.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// oneLine is a text of several lines as a cell has it.
func oneLine(text string) string { return strings.NewReplacer("\t", " ", "\n", " ").Replace(text) }

// None is the query of what is always listed in full, and the body of a request that has none.
type None = struct{}

// Who may make a request. Of things that have an owner, the handler asks for the owner.
type Who string

// Those for operators, administrators and coordinators only are refused to others before anything else is looked at.
const (
	ForStrangers    Who = "callers whom nothing identifies yet"
	ForAnybody      Who = "anybody"
	ForOwners       Who = "the job's owner, operators"
	ForOperators    Who = "operators"
	ForAdmins       Who = "administrators"
	ForCoordinators Who = "coordinators, for what stands below them; operators"
)
