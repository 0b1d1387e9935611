-- What somebody wants done to many jobs: which jobs, and how far it has come.
CREATE TABLE operations (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    BIGINT  NOT NULL,
    data  TEXT    NOT NULL, -- JSON
    ended BIGINT  NOT NULL, -- 0: it goes on
    told  BIGINT  NOT NULL
);
CREATE INDEX operations_open ON operations (id) WHERE ended = 0;

CREATE TABLE operation_jobs (
    op       BIGINT  NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    n        BIGINT  NOT NULL,
    job_id   BIGINT  NOT NULL, -- it may be deleted before the operation
    tasks    TEXT    NOT NULL, -- JSON
    site     TEXT    NOT NULL,
    restarts BIGINT  NOT NULL,
    seq      BIGINT  NOT NULL, -- of its request; 0: it has none yet
    asked    BIGINT  NOT NULL,
    settled  BIGINT  NOT NULL, -- it was the n-th; 0: it is not
    failed   BOOLEAN NOT NULL,
    note     TEXT    NOT NULL,
    PRIMARY KEY (op, n)
) WITHOUT ROWID;
