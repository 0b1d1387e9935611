-- The log of changes: one row for each transaction that has changed anything that others follow. Its number is taken from meta in that
-- transaction, so numbers go up in the order of commits and without gaps.
ALTER TABLE meta ADD COLUMN change_seq   BIGINT NOT NULL DEFAULT 1; -- last number given
ALTER TABLE meta ADD COLUMN change_total BIGINT NOT NULL DEFAULT 0; -- changes in all rows up to that

CREATE TABLE change_log (
    seq     INTEGER PRIMARY KEY,
    at      BIGINT NOT NULL,
    total   BIGINT NOT NULL, -- changes in this row and all before it, trimmed ones too
    changes TEXT   NOT NULL  -- JSON
);
INSERT INTO change_log (seq, at, total, changes) VALUES (1, 0, 0, '[]'); -- a place to begin at, before anything has changed

DROP INDEX jobs_rev; -- what has changed is read from the log
