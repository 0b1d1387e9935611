-- Times are nanoseconds since 1970 in UTC, 0 for none. live is kept beside state so that small partial indexes can lead
-- to what has not ended among millions that have.

-- Counters that outlive the rows they have numbered.
CREATE TABLE meta (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    next_job    BIGINT NOT NULL, -- where to look for the next free job ID
    rev         BIGINT NOT NULL, -- last Rev given
    event_seq   BIGINT NOT NULL,
    request_seq BIGINT NOT NULL
);
INSERT INTO meta (one, next_job, rev, event_seq, request_seq) VALUES (1, 0, 0, 0, 0);

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY,
    rev         BIGINT  NOT NULL,
    user_name   TEXT    NOT NULL,
    uid         BIGINT  NOT NULL,
    gid         BIGINT  NOT NULL,
    name        TEXT    NOT NULL, -- copy of spec.name, to select by
    array_spec  TEXT    NOT NULL, -- the only part of the spec that changes
    state       TEXT    NOT NULL,
    live        BOOLEAN NOT NULL,
    reason      TEXT    NOT NULL,
    priority    BIGINT  NOT NULL,
    held        TEXT    NOT NULL,
    cancel      BOOLEAN NOT NULL,
    cancel_by   BIGINT  NOT NULL,
    submit_time BIGINT  NOT NULL,
    start_time  BIGINT  NOT NULL,
    end_time    BIGINT  NOT NULL,
    attempt     BIGINT  NOT NULL,
    site        TEXT    NOT NULL,
    part        TEXT    NOT NULL,
    nodes       TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    exit_status BIGINT  NOT NULL,
    restarts    BIGINT  NOT NULL,
    cost        REAL    NOT NULL,
    submit_host TEXT    NOT NULL,
    spec        TEXT    NOT NULL  -- JSON, without what has a column of its own
);
CREATE INDEX jobs_rev ON jobs (rev);
CREATE INDEX jobs_live ON jobs (id) WHERE live;
CREATE INDEX jobs_ended ON jobs (end_time) WHERE NOT live;

-- Apart from jobs, so that listing jobs does not read past scripts.
CREATE TABLE payloads (
    job_id      INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    script      BLOB NOT NULL,
    argv        BLOB NOT NULL, -- strings, each ended by a NUL, as the kernel keeps them
    environment BLOB NOT NULL
);

CREATE TABLE attempts (
    job_id      BIGINT  NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number      BIGINT  NOT NULL,
    attempt_key TEXT    NOT NULL UNIQUE,
    site        TEXT    NOT NULL,
    part        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    live        BOOLEAN NOT NULL,
    created     BIGINT  NOT NULL,
    acked       BIGINT  NOT NULL,
    started     BIGINT  NOT NULL,
    ended       BIGINT  NOT NULL,
    site_job_id BIGINT  NOT NULL,
    site_submit BIGINT  NOT NULL,
    tries       BIGINT  NOT NULL,
    restarts    BIGINT  NOT NULL,
    nodes       TEXT    NOT NULL,
    final_state TEXT    NOT NULL,
    exit_status BIGINT  NOT NULL,
    class       TEXT    NOT NULL,
    note        TEXT    NOT NULL,
    decision    TEXT    NOT NULL, -- JSON
    cost        REAL    NOT NULL,
    PRIMARY KEY (job_id, number)
) WITHOUT ROWID;
-- A job has at most one attempt that is not final.
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE live;

CREATE TABLE tasks (
    job_id      BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_index  BIGINT NOT NULL,
    site_job_id BIGINT NOT NULL,
    state       TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    nodes       TEXT   NOT NULL,
    start_time  BIGINT NOT NULL,
    end_time    BIGINT NOT NULL,
    exit_status BIGINT NOT NULL,
    restarts    BIGINT NOT NULL,
    cost        REAL   NOT NULL,
    PRIMARY KEY (job_id, task_index)
) WITHOUT ROWID;

CREATE TABLE events (
    job_id  BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    seq     BIGINT NOT NULL, -- order of writing, over all jobs
    attempt BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    text    TEXT   NOT NULL,
    PRIMARY KEY (job_id, seq)
) WITHOUT ROWID;

-- Only those that are not carried out yet.
CREATE TABLE requests (
    seq      INTEGER PRIMARY KEY,
    job_id   BIGINT  NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    tasks    TEXT    NOT NULL, -- JSON
    kind     TEXT    NOT NULL,
    uid      BIGINT  NOT NULL,
    operator BOOLEAN NOT NULL,
    signal   TEXT    NOT NULL, -- JSON
    at       BIGINT  NOT NULL
);
CREATE INDEX requests_job ON requests (job_id);

CREATE TABLE sites (
    name   TEXT PRIMARY KEY,
    state  TEXT   NOT NULL,
    reason TEXT   NOT NULL,
    set_by TEXT   NOT NULL,
    at     BIGINT NOT NULL
);
