// Package store keeps the federation's state in a database: it implements [federation.JobStore]
// and all of its neighbours. SQLite is the default; PostgreSQL
// takes the same statements ([Postgres]).
//
// Start with [Open]. All writes go through one goroutine (writer.go), which lets concurrent callers share one transaction
// and one fsync; reads have connections of their own and never wait for it. The statements of each table are in the file
// named after it, the tables are in migrations. What is peculiar to one of the databases is in the files named
// after it (sqlite.go, sqlitesession.go; postgres.go and pg*.go), behind the interface session.
//
// What a state means and which change is allowed is not decided here, with two exceptions that the schema enforces: a
// job has at most one attempt that is not final, and an attempt's key is unique.
package store
