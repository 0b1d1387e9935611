// Package store keeps the federation's state in a database: it implements [federation.JobStore]
// and all of its neighbours. SQLite is what one daemon on one machine uses; PostgreSQL, for several
// daemons that share one federation, will be a second dialect of the same statements.
//
// Start with [Open]. All writes go through one goroutine (writer.go), which lets concurrent callers share one transaction
// and one fsync; reads have connections of their own and never wait for it. The statements of each table are in the file
// named after it, what is peculiar to SQLite is in sqlite.go, the tables are in migrations.
//
// What a state means and which change is allowed is not decided here, with two exceptions that the schema enforces: a
// job has at most one attempt that is not final, and an attempt's key is unique.
package store
