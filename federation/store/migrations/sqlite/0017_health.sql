-- What the rules of health remember, and what they have said; and of each attempt what kind of failure it was.
ALTER TABLE attempts ADD COLUMN code TEXT NOT NULL DEFAULT '';

CREATE TABLE health (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

CREATE TABLE health_findings (
    seq    INTEGER PRIMARY KEY,
    at     BIGINT NOT NULL,
    rule   TEXT   NOT NULL,
    act    TEXT   NOT NULL,
    site   TEXT   NOT NULL,
    node   TEXT   NOT NULL,
    job_id BIGINT NOT NULL,
    why    TEXT   NOT NULL,
    denied TEXT   NOT NULL
);
CREATE INDEX health_findings_at ON health_findings (at);
