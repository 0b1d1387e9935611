-- Small things that users own, by kind. Saved reports are the first of them: what was a column of each is now in its value.
CREATE TABLE records (
    kind  TEXT   NOT NULL,
    owner TEXT   NOT NULL,
    name  TEXT   NOT NULL,
    value TEXT   NOT NULL, -- JSON
    rev   BIGINT NOT NULL, -- of its last write: from meta.rev; below 0: it was written before this migration
    PRIMARY KEY (kind, owner, name)
) WITHOUT ROWID;

INSERT INTO records (kind, owner, name, value, rev)
SELECT 'report', owner, name,
       json_object('definition', json(definition), 'state', json_object(
           'For', CASE sent_for WHEN 0 THEN '0001-01-01T00:00:00Z' ELSE strftime('%Y-%m-%dT%H:%M:%SZ', sent_for / 1000000000, 'unixepoch') END,
           'Sent', CASE sent_at WHEN 0 THEN '0001-01-01T00:00:00Z' ELSE strftime('%Y-%m-%dT%H:%M:%SZ', sent_at / 1000000000, 'unixepoch') END,
           'Where', sent_where,
           'Tried', CASE tried_at WHEN 0 THEN '0001-01-01T00:00:00Z' ELSE strftime('%Y-%m-%dT%H:%M:%SZ', tried_at / 1000000000, 'unixepoch') END,
           'Tries', tries,
           'Error', error)),
       -1
FROM reports;

DROP TABLE reports;
