package store

// What users hold is one row for each of them in SQLite. In PostgreSQL each commit adds rows, and nothing is updated: a server keeps all versions of a row for as long as any
// transaction looks back, as that of pg_dump does, and each update of it goes through all of them. With a row for each user, four minutes of a dump cost three quarters of the
// submissions a second. A user's rows are made one again when the store is opened, and when it is purged.
const (
	pgReleaseHolding = "INSERT INTO holdings (uid, bytes) SELECT jobs.uid, CAST(-" + freedBytes + " AS BIGINT) FROM " + freedJobs
	pgFoldHoldings   = "WITH old AS (DELETE FROM holdings WHERE uid IN (SELECT uid FROM holdings GROUP BY uid HAVING COUNT(*) > 1) RETURNING uid, bytes) " +
		"INSERT INTO holdings (uid, bytes) SELECT uid, GREATEST(CAST(SUM(bytes) AS BIGINT), 0) FROM old GROUP BY uid"
)
