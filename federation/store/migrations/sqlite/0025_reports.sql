-- Reports that are made again and again.
CREATE TABLE reports (
    owner      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    definition TEXT   NOT NULL, -- JSON
    made_at    BIGINT NOT NULL, -- Unix nanoseconds, like all times here; 0: never
    sent_for   BIGINT NOT NULL, -- the moment of its schedule up to which it is delivered
    sent_at    BIGINT NOT NULL,
    sent_where TEXT   NOT NULL,
    tried_at   BIGINT NOT NULL,
    tries      BIGINT NOT NULL,
    error      TEXT   NOT NULL,
    PRIMARY KEY (owner, name)
) WITHOUT ROWID;
