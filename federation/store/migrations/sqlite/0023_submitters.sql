-- What one user may take up is bounded: how many bytes the scripts, arguments and environments of his jobs have.
CREATE TABLE holdings (
    uid   INTEGER PRIMARY KEY,
    bytes BIGINT NOT NULL
);
INSERT INTO holdings (uid, bytes)
    SELECT uid, SUM(length(script) + length(argv) + length(environment)) FROM payloads JOIN jobs ON jobs.id = payloads.job_id GROUP BY uid;
CREATE INDEX jobs_live_uid ON jobs (uid) WHERE live;
CREATE INDEX requests_uid ON requests (uid);

-- The key that a user gave a submission: repeated, it is the same job.
CREATE TABLE submission_keys (
    uid    BIGINT  NOT NULL,
    key    TEXT    NOT NULL,
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    PRIMARY KEY (uid, key)
) WITHOUT ROWID;
CREATE INDEX submission_keys_job ON submission_keys (job_id);
