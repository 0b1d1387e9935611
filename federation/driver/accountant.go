package driver

import (
	"context"
	"errors"
	"time"

	"fsub/accounting/ledger"
)

// Accountant is a driver whose site keeps accounts of everybody's jobs.
type Accountant interface {
	// Accounts returns the runs of all users' jobs that the site's accounting has, that held something, and that ended from from to until, both included.
	// Their ID says whether they are this federation's. Group.User is the user's name at the site; nothing is said of prices. A site without accounting
	// has none, ErrInvalid. An answer that is too long to be read is ErrTooLong: less time must be asked for. Only with steps the answer says what CPUs
	// and GPUs were used; such an answer costs the site many times as much.
	Accounts(ctx context.Context, from, until time.Time, steps bool) ([]SiteRun, error)
	// Live returns the runs that have not ended, by the site's accounting.
	Live(ctx context.Context) ([]SiteRun, error)
}

// ErrTooLong: a site's answer was longer than what is read of one.
var ErrTooLong = errors.New("the response is too long")

// SiteRun is a run as its site's accounting has it.
type SiteRun struct {
	ledger.Entry
	// Live: it has not ended, by the site's accounting; End is when that was asked.
	Live bool
	// Association is the number of the association that the site counts it on.
	Association int64
}
