-- What sites measured of jobs that have ended, as JSON: sacct shows it, nothing selects by it. Index -1 is the job itself.
CREATE TABLE usage (
    job_id     BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_index BIGINT NOT NULL,
    data       BLOB   NOT NULL,
    PRIMARY KEY (job_id, task_index)
) WITHOUT ROWID;
