-- What each run that has ended came to. Nothing here goes with its job, whose ID may be given again: the attempt's key may not.
CREATE TABLE charges (
    attempt_key TEXT   NOT NULL,
    job_id      BIGINT NOT NULL,
    run         BIGINT NOT NULL,
    task_index  BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,
    array_id    BIGINT NOT NULL, -- 0 for none
    site        TEXT   NOT NULL,
    cluster     TEXT   NOT NULL,
    user_name   TEXT   NOT NULL,
    account     TEXT   NOT NULL,
    qos         TEXT   NOT NULL,
    part        TEXT   NOT NULL,
    tres        TEXT   NOT NULL,
    per_hour    BIGINT NOT NULL, -- millionths of a dollar
    nodes       TEXT   NOT NULL,
    state       TEXT   NOT NULL,
    start_time  BIGINT NOT NULL,
    end_time    BIGINT NOT NULL,
    suspended   BIGINT NOT NULL, -- nanoseconds
    price_from  TEXT   NOT NULL,
    amount      BIGINT NOT NULL, -- millionths of a dollar
    PRIMARY KEY (attempt_key, job_id, run, task_index)
) WITHOUT ROWID;
CREATE INDEX charges_end ON charges (end_time);
CREATE INDEX charges_job ON charges (job_id);
CREATE INDEX charges_array ON charges (array_id) WHERE array_id <> 0;

-- What an attempt's newest run holds, as JSON, and how many of its runs are charged.
ALTER TABLE attempts ADD COLUMN held    TEXT   NOT NULL DEFAULT '{}';
ALTER TABLE attempts ADD COLUMN charged BIGINT NOT NULL DEFAULT 0;
