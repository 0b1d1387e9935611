-- The ledger tells the groups of jobs apart (--group): '' for jobs without one, and for all that is booked already.
CREATE TABLE ledger_groups_new (
    id        INTEGER PRIMARY KEY,
    site      TEXT NOT NULL,
    account   TEXT NOT NULL,
    user_name TEXT NOT NULL,
    qos       TEXT NOT NULL,
    part      TEXT NOT NULL,
    gpu       TEXT NOT NULL,
    name      TEXT NOT NULL,
    job_group TEXT NOT NULL DEFAULT '',
    UNIQUE (site, account, user_name, qos, part, gpu, name, job_group)
);
INSERT INTO ledger_groups_new (id, site, account, user_name, qos, part, gpu, name)
SELECT id, site, account, user_name, qos, part, gpu, name FROM ledger_groups;
DROP TABLE ledger_groups;
ALTER TABLE ledger_groups_new RENAME TO ledger_groups;
