-- What the drivers of rented pools keep: see federation.PoolStore. Nothing here goes with its job: machines are the books of what was paid.
ALTER TABLE meta ADD COLUMN pool_seq BIGINT NOT NULL DEFAULT 0; -- last seq given

CREATE TABLE pool_records (
    seq    INTEGER PRIMARY KEY, -- order of first writing, over all sites
    site   TEXT   NOT NULL,
    kind   TEXT   NOT NULL,
    id     TEXT   NOT NULL,
    job_id BIGINT NOT NULL,     -- 0 for none
    closed BIGINT NOT NULL,     -- 0 while it is open
    data   BLOB   NOT NULL,     -- JSON of the driver's own
    UNIQUE (id, kind, site)     -- in this order: with the site first it would be preferred to the indexes below
);
CREATE INDEX pool_records_open ON pool_records (site, kind) WHERE closed = 0;
CREATE INDEX pool_records_closed ON pool_records (closed, site, kind) WHERE closed <> 0;
CREATE INDEX pool_records_job ON pool_records (job_id);

-- Apart from the records: those are written again with every change of a job, this once.
CREATE TABLE pool_payloads (
    record  INTEGER PRIMARY KEY REFERENCES pool_records (seq) ON DELETE CASCADE,
    payload BLOB NOT NULL
);

CREATE TABLE pool_numbers (
    site TEXT   NOT NULL,
    kind TEXT   NOT NULL,
    last BIGINT NOT NULL, -- given
    PRIMARY KEY (site, kind)
);
