-- The tables as migrations/sqlite leaves them at this version, where each column has its comment. What is written again and again has room on its pages for
-- the next version of a row, and no index on what changes: then no index is written.

CREATE TABLE jobs (
    id           BIGINT PRIMARY KEY,
    rev          BIGINT NOT NULL,
    user_name    TEXT NOT NULL,
    uid          BIGINT NOT NULL,
    gid          BIGINT NOT NULL,
    name         TEXT NOT NULL,
    array_spec   TEXT NOT NULL,
    state        TEXT NOT NULL,
    live         BOOLEAN NOT NULL,
    reason       TEXT NOT NULL,
    priority     BIGINT NOT NULL,
    held         TEXT NOT NULL,
    cancel       BOOLEAN NOT NULL,
    cancel_by    BIGINT NOT NULL,
    submit_time  BIGINT NOT NULL,
    start_time   BIGINT NOT NULL,
    end_time     BIGINT NOT NULL,
    attempt      BIGINT NOT NULL,
    site         TEXT NOT NULL,
    part         TEXT NOT NULL,
    nodes        TEXT NOT NULL,
    account      TEXT NOT NULL,
    exit_status  BIGINT NOT NULL,
    restarts     BIGINT NOT NULL,
    submit_host  TEXT NOT NULL,
    spec         TEXT NOT NULL,
    part_of      BIGINT NOT NULL DEFAULT 0,
    component    BIGINT NOT NULL DEFAULT 0,
    array_part   TEXT NOT NULL DEFAULT '',
    array_whole  TEXT NOT NULL DEFAULT '',
    suspension   TEXT NOT NULL DEFAULT '',
    cost         BIGINT NOT NULL DEFAULT 0,
    top          BIGINT NOT NULL DEFAULT 0,
    tree_account TEXT NOT NULL DEFAULT '',
    holder       TEXT NOT NULL DEFAULT ''
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX jobs_live ON jobs (id) WHERE live;
CREATE INDEX jobs_ended ON jobs (end_time) WHERE NOT live;
CREATE INDEX jobs_part_of ON jobs (part_of) WHERE part_of <> 0;
CREATE INDEX jobs_live_uid ON jobs (uid) WHERE live;

CREATE TABLE payloads (
    job_id      BIGINT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    script      BYTEA NOT NULL,
    argv        BYTEA NOT NULL,
    environment BYTEA NOT NULL
) WITH (toast_tuple_target = 8160); -- three kilobytes are not worth being compressed

CREATE TABLE attempts (
    job_id      BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    attempt_key TEXT NOT NULL UNIQUE,
    site        TEXT NOT NULL,
    part        TEXT NOT NULL,
    state       TEXT NOT NULL,
    live        BOOLEAN NOT NULL,
    created     BIGINT NOT NULL,
    acked       BIGINT NOT NULL,
    started     BIGINT NOT NULL,
    ended       BIGINT NOT NULL,
    site_job_id BIGINT NOT NULL,
    site_submit BIGINT NOT NULL,
    tries       BIGINT NOT NULL,
    restarts    BIGINT NOT NULL,
    nodes       TEXT NOT NULL,
    final_state TEXT NOT NULL,
    exit_status BIGINT NOT NULL,
    class       TEXT NOT NULL,
    note        TEXT NOT NULL,
    decision    TEXT NOT NULL,
    runs        TEXT NOT NULL DEFAULT 'null',
    cost        BIGINT NOT NULL DEFAULT 0,
    held        TEXT NOT NULL DEFAULT '{}',
    charged     BIGINT NOT NULL DEFAULT 0,
    code        TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, number)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE live;

CREATE TABLE tasks (
    job_id      BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_index  BIGINT NOT NULL,
    site_job_id BIGINT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    nodes       TEXT NOT NULL,
    start_time  BIGINT NOT NULL,
    end_time    BIGINT NOT NULL,
    exit_status BIGINT NOT NULL,
    restarts    BIGINT NOT NULL,
    cost        BIGINT NOT NULL DEFAULT 0,
    cancel      BOOLEAN NOT NULL DEFAULT FALSE,
    cancel_by   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, task_index)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE events (
    job_id  BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    seq     BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
);

CREATE TABLE requests (
    seq       BIGINT PRIMARY KEY,
    job_id    BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    tasks     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    uid       BIGINT NOT NULL,
    operator  BOOLEAN NOT NULL,
    signal    TEXT NOT NULL,
    at        BIGINT NOT NULL,
    change    TEXT NOT NULL DEFAULT 'null',
    restarts  BIGINT NOT NULL DEFAULT 0,
    move      TEXT NOT NULL DEFAULT 'null',
    user_name TEXT NOT NULL DEFAULT ''
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX requests_uid ON requests (uid);
CREATE INDEX requests_same ON requests (job_id, substr(tasks, 1, 32));

CREATE TABLE sites (
    name   TEXT PRIMARY KEY,
    state  TEXT NOT NULL,
    reason TEXT NOT NULL,
    set_by TEXT NOT NULL,
    at     BIGINT NOT NULL,
    lost   BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE usage (
    job_id     BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_index BIGINT NOT NULL,
    data       BYTEA NOT NULL,
    PRIMARY KEY (job_id, task_index)
);

CREATE TABLE pool_records (
    seq    BIGINT PRIMARY KEY,
    site   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    job_id BIGINT NOT NULL,
    closed BIGINT NOT NULL,
    data   BYTEA NOT NULL,
    UNIQUE (id, kind, site)
) WITH (fillfactor = 80);
CREATE INDEX pool_records_open ON pool_records (site, kind) WHERE closed = 0;
CREATE INDEX pool_records_closed ON pool_records (closed, site, kind) WHERE closed <> 0;
CREATE INDEX pool_records_job ON pool_records (job_id);

CREATE TABLE pool_payloads (
    record  BIGINT PRIMARY KEY REFERENCES pool_records (seq) ON DELETE CASCADE,
    payload BYTEA NOT NULL
);

CREATE TABLE pool_numbers (
    site TEXT NOT NULL,
    kind TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (site, kind)
);

CREATE TABLE change_log (
    seq     BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    total   BIGINT NOT NULL,
    changes TEXT NOT NULL
);

CREATE TABLE charges (
    attempt_key  TEXT NOT NULL,
    job_id       BIGINT NOT NULL,
    run          BIGINT NOT NULL,
    task_index   BIGINT NOT NULL,
    attempt      BIGINT NOT NULL,
    array_id     BIGINT NOT NULL,
    site         TEXT NOT NULL,
    cluster      TEXT NOT NULL,
    user_name    TEXT NOT NULL,
    account      TEXT NOT NULL,
    qos          TEXT NOT NULL,
    part         TEXT NOT NULL,
    tres         TEXT NOT NULL,
    per_hour     BIGINT NOT NULL,
    nodes        TEXT NOT NULL,
    state        TEXT NOT NULL,
    start_time   BIGINT NOT NULL,
    end_time     BIGINT NOT NULL,
    suspended    BIGINT NOT NULL,
    price_from   TEXT NOT NULL,
    amount       BIGINT NOT NULL,
    site_account TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (attempt_key, job_id, run, task_index)
);
CREATE INDEX charges_end ON charges (end_time);
CREATE INDEX charges_job ON charges (job_id);
CREATE INDEX charges_array ON charges (array_id) WHERE array_id <> 0;

CREATE TABLE nodes (
    site    TEXT NOT NULL,
    node    TEXT NOT NULL,
    wish    TEXT NOT NULL,
    owner   TEXT NOT NULL,
    ticket  TEXT NOT NULL,
    reason  TEXT NOT NULL,
    requeue BOOLEAN NOT NULL,
    since   BIGINT NOT NULL,
    until   BIGINT NOT NULL,
    PRIMARY KEY (site, node)
);

CREATE TABLE node_events (
    seq    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    site   TEXT NOT NULL,
    node   TEXT NOT NULL,
    at     BIGINT NOT NULL,
    who    TEXT NOT NULL,
    was    TEXT NOT NULL,
    is_now TEXT NOT NULL,
    wanted BOOLEAN NOT NULL,
    why    TEXT NOT NULL
);
CREATE INDEX node_events_node ON node_events (site, node, seq);
CREATE INDEX node_events_at ON node_events (at);

CREATE TABLE audit (
    seq        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at         BIGINT NOT NULL,
    who        TEXT NOT NULL,
    uid        BIGINT NOT NULL,
    role       TEXT NOT NULL,
    from_where TEXT NOT NULL,
    verb       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    object     TEXT NOT NULL,
    was        TEXT NOT NULL,
    is_now     TEXT NOT NULL,
    why        TEXT NOT NULL,
    ticket     TEXT NOT NULL,
    result     TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_object ON audit (object, seq);

CREATE TABLE operations (
    id    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at    BIGINT NOT NULL,
    data  TEXT NOT NULL,
    ended BIGINT NOT NULL,
    told  BIGINT NOT NULL
);
CREATE INDEX operations_open ON operations (id) WHERE ended = 0;

CREATE TABLE operation_jobs (
    op       BIGINT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    n        BIGINT NOT NULL,
    job_id   BIGINT NOT NULL,
    tasks    TEXT NOT NULL,
    site     TEXT NOT NULL,
    restarts BIGINT NOT NULL,
    seq      BIGINT NOT NULL,
    asked    BIGINT NOT NULL,
    settled  BIGINT NOT NULL,
    failed   BOOLEAN NOT NULL,
    note     TEXT NOT NULL,
    PRIMARY KEY (op, n)
);

CREATE TABLE health (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE health_findings (
    seq    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    rule   TEXT NOT NULL,
    act    TEXT NOT NULL,
    site   TEXT NOT NULL,
    node   TEXT NOT NULL,
    job_id BIGINT NOT NULL,
    why    TEXT NOT NULL,
    denied TEXT NOT NULL
);
CREATE INDEX health_findings_at ON health_findings (at);

CREATE TABLE ledger_words (
    id   BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
);

CREATE TABLE ledger_groups (
    id        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
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
    site       BIGINT NOT NULL,
    kind       BIGINT NOT NULL,
    job        BIGINT NOT NULL,
    task       BIGINT NOT NULL,
    at         BIGINT NOT NULL,
    grp        BIGINT NOT NULL,
    source     BIGINT NOT NULL,
    read_at    BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    tres       BIGINT NOT NULL,
    state      BIGINT NOT NULL,
    submit     BIGINT NOT NULL,
    start_time BIGINT NOT NULL,
    end_time   BIGINT NOT NULL,
    wait       BIGINT NOT NULL,
    suspended  BIGINT NOT NULL,
    lim        BIGINT NOT NULL,
    cpu_used   BIGINT NOT NULL,
    gpu_used   BIGINT NOT NULL,
    per_hour   BIGINT NOT NULL,
    rented     BIGINT NOT NULL,
    amount     BIGINT NOT NULL,
    dearest    BIGINT NOT NULL,
    listed     BIGINT NOT NULL,
    first_fit  BIGINT NOT NULL,
    fate       BIGINT NOT NULL,
    PRIMARY KEY (site, kind, job, task, at)
);
CREATE INDEX ledger_end ON ledger (site, end_time);

CREATE TABLE ledger_past (
    seq       BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    booked_at BIGINT NOT NULL,
    entry     TEXT NOT NULL
);

CREATE TABLE ledger_days (
    period    BIGINT NOT NULL,
    grp       BIGINT NOT NULL,
    fate      BIGINT NOT NULL,
    runs      BIGINT NOT NULL,
    cpu       BIGINT NOT NULL,
    mem       BIGINT NOT NULL,
    node      BIGINT NOT NULL,
    gpu       BIGINT NOT NULL,
    billing   BIGINT NOT NULL,
    wall      BIGINT NOT NULL,
    amount    BIGINT NOT NULL,
    dearest   BIGINT NOT NULL,
    listed    BIGINT NOT NULL,
    first_fit BIGINT NOT NULL,
    waited    BIGINT NOT NULL,
    cpu_used  BIGINT NOT NULL,
    cpu_of    BIGINT NOT NULL,
    gpu_used  BIGINT NOT NULL,
    gpu_of    BIGINT NOT NULL,
    limit_of  BIGINT NOT NULL,
    limit_by  BIGINT NOT NULL,
    wait0     BIGINT NOT NULL,
    wait1     BIGINT NOT NULL,
    wait2     BIGINT NOT NULL,
    wait3     BIGINT NOT NULL,
    wait4     BIGINT NOT NULL,
    wait5     BIGINT NOT NULL,
    wait6     BIGINT NOT NULL,
    PRIMARY KEY (period, grp, fate)
);

CREATE TABLE ledger_months (
    period    BIGINT NOT NULL,
    grp       BIGINT NOT NULL,
    fate      BIGINT NOT NULL,
    runs      BIGINT NOT NULL,
    cpu       BIGINT NOT NULL,
    mem       BIGINT NOT NULL,
    node      BIGINT NOT NULL,
    gpu       BIGINT NOT NULL,
    billing   BIGINT NOT NULL,
    wall      BIGINT NOT NULL,
    amount    BIGINT NOT NULL,
    dearest   BIGINT NOT NULL,
    listed    BIGINT NOT NULL,
    first_fit BIGINT NOT NULL,
    waited    BIGINT NOT NULL,
    cpu_used  BIGINT NOT NULL,
    cpu_of    BIGINT NOT NULL,
    gpu_used  BIGINT NOT NULL,
    gpu_of    BIGINT NOT NULL,
    limit_of  BIGINT NOT NULL,
    limit_by  BIGINT NOT NULL,
    wait0     BIGINT NOT NULL,
    wait1     BIGINT NOT NULL,
    wait2     BIGINT NOT NULL,
    wait3     BIGINT NOT NULL,
    wait4     BIGINT NOT NULL,
    wait5     BIGINT NOT NULL,
    wait6     BIGINT NOT NULL,
    PRIMARY KEY (period, grp, fate)
);

CREATE TABLE ledger_marks (
    name TEXT PRIMARY KEY,
    mark TEXT NOT NULL
);

CREATE TABLE account_records (
    kind         TEXT NOT NULL,
    account      TEXT NOT NULL,
    name         TEXT NOT NULL,
    parent       TEXT NOT NULL,
    is_default   BOOLEAN NOT NULL,
    coordinators TEXT NOT NULL,
    settings     TEXT NOT NULL,
    source       TEXT NOT NULL,
    PRIMARY KEY (kind, account, name)
);

CREATE TABLE account_made (
    site    TEXT NOT NULL,
    kind    TEXT NOT NULL,
    account TEXT NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (site, kind, account, name)
);

CREATE TABLE site_events (
    seq    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    site   TEXT NOT NULL,
    at     BIGINT NOT NULL,
    who    TEXT NOT NULL,
    was    TEXT NOT NULL,
    is_now TEXT NOT NULL,
    why    TEXT NOT NULL
);
CREATE INDEX site_events_site ON site_events (site, seq);
CREATE INDEX site_events_at ON site_events (at);

CREATE TABLE maintenance (
    id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    site       TEXT NOT NULL,
    nodes      TEXT NOT NULL,
    begins     BIGINT NOT NULL,
    ends       BIGINT NOT NULL,
    reason     TEXT NOT NULL,
    set_by     TEXT NOT NULL,
    at         BIGINT NOT NULL,
    removed_by TEXT NOT NULL DEFAULT '',
    removed_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX maintenance_ends ON maintenance (ends);

CREATE TABLE run_lengths (
    seq     BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    start   BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    groups  BYTEA NOT NULL,
    ending  BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE bills (
    site        TEXT NOT NULL,
    from_day    BIGINT NOT NULL,
    until_day   BIGINT NOT NULL,
    told        BIGINT NOT NULL,
    closed      BOOLEAN NOT NULL,
    format      TEXT NOT NULL,
    file_rows   BIGINT NOT NULL,
    imported_by TEXT NOT NULL,
    imported_at BIGINT NOT NULL,
    lines       TEXT NOT NULL,
    PRIMARY KEY (site, from_day, until_day)
);

CREATE TABLE holdings (
    uid   BIGINT PRIMARY KEY,
    bytes BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE submission_keys (
    uid    BIGINT NOT NULL,
    key    TEXT NOT NULL,
    job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    PRIMARY KEY (uid, key)
);
CREATE INDEX submission_keys_job ON submission_keys (job_id);

CREATE TABLE past_waits (
    seq     BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    site    TEXT NOT NULL,
    since   BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    traits  BYTEA NOT NULL
);

CREATE TABLE records (
    kind  TEXT NOT NULL,
    owner TEXT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    rev   BIGINT NOT NULL,
    PRIMARY KEY (kind, owner, name)
);

CREATE FUNCTION audit_is_appended_to() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of the audit log do not change';
END $$;
CREATE TRIGGER audit_is_appended_to BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_appended_to();

INSERT INTO change_log (seq, at, total, changes) VALUES (1, 0, 0, '[]'); -- a place to begin at, before anything has changed

-- What SQLite's meta counts. The range of job IDs is set when the store is opened. Of the others a transaction takes as many at once as the step is wide.
CREATE SEQUENCE job_ids CYCLE;
CREATE SEQUENCE revs INCREMENT BY 64;
CREATE SEQUENCE event_seqs INCREMENT BY 64;
CREATE SEQUENCE request_seqs INCREMENT BY 1;
CREATE SEQUENCE pool_seqs INCREMENT BY 64;

-- The database that this store was last known to be, to notice that it is another one now: a standby that took over, or a copy.
CREATE TABLE meta (
    one       BIGINT PRIMARY KEY CHECK (one = 1),
    server    TEXT   NOT NULL, -- its system identifier, and the database's number on it
    timeline  BIGINT NOT NULL,
    copied_at BIGINT NOT NULL  -- nanoseconds: when it was noticed; 0: it is none, or was compared with the sites
);

-- Each transaction of a writer leaves its number. Where the answer to a COMMIT is lost this says what became of it.
CREATE TABLE commits (
    writer BIGINT  NOT NULL,
    number BIGINT  NOT NULL,
    void   BOOLEAN NOT NULL, -- it was not done, and now never will be
    at     BIGINT  NOT NULL, -- nanoseconds
    PRIMARY KEY (writer, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
