package ledger

import "context"

// Books keeps the ledger: an entry for each run of any job at any site, and their sums by day and month. Entries outlive their jobs.
type Books interface {
	// Book merges entries into the ledger, as [Merge] says, and adds what is new to the sums, all in one commit, and with it sets marks, if there
	// are any. It returns how many entries were new or changed. What an entry said before it was changed is kept, and so is one that cannot be booked,
	// with the reason ([Entry.Unfit]): the others are booked without it.
	Book(ctx context.Context, entries []Entry, marks map[string]string) (int, error)
	// BooksMark returns what a mark was last set to; "": it never was.
	BooksMark(ctx context.Context, name string) (string, error)
	// BookedRuns calls take with the entries of a site that lie, or partly lie, between two Unix times, in order of their end, until the first error.
	BookedRuns(ctx context.Context, site string, from, until int64, take func(*Entry) error) error
	// BookedSums adds up the ledger, in no order.
	BookedSums(ctx context.Context, q SumQuery) ([]SumRow, error)
	// EachSum calls take with each row of the same, until the first error: three years by day and user are half a million.
	EachSum(ctx context.Context, q SumQuery, take func(*SumRow) error) error
}

// SumQuery asks for sums over the ledger.
type SumQuery struct {
	From, Until int64 // UTC days since 1970: from the first, and before the last
	// By are what to tell apart.
	By []Dimension
	// Every tells the time apart.
	Every Period
	// Where are the values to choose of a dimension: any of them. None of a dimension that is there chooses nothing.
	Where map[Dimension][]string
	// Sums are the numbers that are wanted, by their places in [Sums.Fields]; none: all. The others are 0: what is not added up takes no time.
	Sums []int
	// Within narrows the choice to what a caller may see; nil: all of it.
	Within *Scope
}

// Scope is what a caller may see of the books: what is the user's own, and what is of the accounts.
type Scope struct {
	User     string
	Accounts []string
}

// SumRow is one line of the answer.
type SumRow struct {
	Period int64    // by Every: the day, or the month counted from the year 0; 0 otherwise
	Values []string // of By, in its order
	Fate   Fate
	Sums
}

// Dimension is what reports group by.
type Dimension string

const (
	BySite      Dimension = "site"
	ByAccount   Dimension = "account"
	ByUser      Dimension = "user"
	ByQOS       Dimension = "qos"
	ByPartition Dimension = "partition"
	ByGPU       Dimension = "gpu"
	ByName      Dimension = "name"
	ByJobGroup  Dimension = "group"
)

// Dimensions are all of them.
var Dimensions = []Dimension{BySite, ByAccount, ByUser, ByQOS, ByPartition, ByGPU, ByName, ByJobGroup}

// Period is how a report tells the time apart.
type Period string

const (
	Altogether Period = ""
	Daily      Period = "day"
	Monthly    Period = "month"
)
