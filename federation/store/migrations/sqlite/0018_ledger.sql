-- The ledger: one row for each run of any job at any site: see accounting/ledger. Nothing here goes with its job.
CREATE TABLE ledger_words ( -- sites, TRES, states
    id   INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
);
CREATE TABLE ledger_groups ( -- whom and what a run is about
    id        INTEGER PRIMARY KEY,
    site      TEXT NOT NULL,
    account   TEXT NOT NULL,
    user_name TEXT NOT NULL,
    qos       TEXT NOT NULL,
    part      TEXT NOT NULL,
    gpu       TEXT NOT NULL,
    name      TEXT NOT NULL,
    UNIQUE (site, account, user_name, qos, part, gpu, name)
);
CREATE TABLE ledger (
    site       BIGINT NOT NULL, -- a word
    kind       BIGINT NOT NULL,
    job        BIGINT NOT NULL,
    task       BIGINT NOT NULL,
    at         BIGINT NOT NULL, -- all times are Unix seconds
    grp        BIGINT NOT NULL, -- a group
    source     BIGINT NOT NULL,
    read_at    BIGINT NOT NULL, -- milliseconds
    number     BIGINT NOT NULL,
    tres       BIGINT NOT NULL, -- a word
    state      BIGINT NOT NULL, -- a word
    submit     BIGINT NOT NULL,
    start_time BIGINT NOT NULL,
    end_time   BIGINT NOT NULL,
    wait       BIGINT NOT NULL,
    suspended  BIGINT NOT NULL,
    lim        BIGINT NOT NULL,
    cpu_used   BIGINT NOT NULL,
    gpu_used   BIGINT NOT NULL,
    per_hour   BIGINT NOT NULL, -- money is in millionths of a dollar
    rented     BIGINT NOT NULL,
    amount     BIGINT NOT NULL,
    dearest    BIGINT NOT NULL,
    listed     BIGINT NOT NULL,
    first_fit  BIGINT NOT NULL,
    fate       BIGINT NOT NULL,
    PRIMARY KEY (site, kind, job, task, at)
) WITHOUT ROWID;
CREATE INDEX ledger_end ON ledger (site, end_time);

-- What rows said before they were corrected.
CREATE TABLE ledger_past (
    seq       INTEGER PRIMARY KEY,
    booked_at BIGINT NOT NULL, -- nanoseconds: when that was over
    entry     TEXT   NOT NULL  -- JSON
);

-- The sums of the ledger by UTC day and by month, changed in the transaction that changes the ledger.
CREATE TABLE ledger_days (
    period  BIGINT NOT NULL, -- days since 1970
    grp     BIGINT NOT NULL,
    fate    BIGINT NOT NULL,
    runs BIGINT NOT NULL, cpu BIGINT NOT NULL, mem BIGINT NOT NULL, node BIGINT NOT NULL, gpu BIGINT NOT NULL, billing BIGINT NOT NULL, wall BIGINT NOT NULL,
    amount BIGINT NOT NULL, dearest BIGINT NOT NULL, listed BIGINT NOT NULL, first_fit BIGINT NOT NULL,
    waited BIGINT NOT NULL, cpu_used BIGINT NOT NULL, cpu_of BIGINT NOT NULL, gpu_used BIGINT NOT NULL, gpu_of BIGINT NOT NULL, limit_of BIGINT NOT NULL, limit_by BIGINT NOT NULL,
    wait0 BIGINT NOT NULL, wait1 BIGINT NOT NULL, wait2 BIGINT NOT NULL, wait3 BIGINT NOT NULL, wait4 BIGINT NOT NULL, wait5 BIGINT NOT NULL, wait6 BIGINT NOT NULL,
    PRIMARY KEY (period, grp, fate)
) WITHOUT ROWID;
CREATE TABLE ledger_months (
    period  BIGINT NOT NULL, -- months since the year 0
    grp     BIGINT NOT NULL,
    fate    BIGINT NOT NULL,
    runs BIGINT NOT NULL, cpu BIGINT NOT NULL, mem BIGINT NOT NULL, node BIGINT NOT NULL, gpu BIGINT NOT NULL, billing BIGINT NOT NULL, wall BIGINT NOT NULL,
    amount BIGINT NOT NULL, dearest BIGINT NOT NULL, listed BIGINT NOT NULL, first_fit BIGINT NOT NULL,
    waited BIGINT NOT NULL, cpu_used BIGINT NOT NULL, cpu_of BIGINT NOT NULL, gpu_used BIGINT NOT NULL, gpu_of BIGINT NOT NULL, limit_of BIGINT NOT NULL, limit_by BIGINT NOT NULL,
    wait0 BIGINT NOT NULL, wait1 BIGINT NOT NULL, wait2 BIGINT NOT NULL, wait3 BIGINT NOT NULL, wait4 BIGINT NOT NULL, wait5 BIGINT NOT NULL, wait6 BIGINT NOT NULL,
    PRIMARY KEY (period, grp, fate)
) WITHOUT ROWID;

-- How far each importer has come, in its own words.
CREATE TABLE ledger_marks (
    name TEXT PRIMARY KEY,
    mark TEXT NOT NULL
) WITHOUT ROWID;
