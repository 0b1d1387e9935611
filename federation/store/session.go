package store

// session is the one connection that writes, and its transaction. Its errors wrap one of the federation's; ErrUnavailable means that the transaction is lost.
// It never uses a caller's context: a statement that is interrupted would end everybody's transaction.
type session interface {
	begin() error
	// exec runs a statement and returns how many rows it has changed.
	exec(text string, args []any) (int64, error)
	// later runs a statement whose outcome nobody waits for yet: at once, or with the next that somebody waits for. done is told the outcome, and may find that
	// it is an error; nil: any outcome but an error will do.
	later(text string, args []any, done func(rows int64, err error) error) error
	// settle waits until each done is told.
	settle() error
	// each calls take with each row of a query.
	each(text string, args []any, take func(*row)) error
	// commit makes all of it durable, with the changes that t has noted as the next entry of the log. What it returns is the whole truth: nil, it is; an error
	// that is not ErrOpen, it is not and never will be.
	commit(t *tx) error
	rollback()
	close() error
}
