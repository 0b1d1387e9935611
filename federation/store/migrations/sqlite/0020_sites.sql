-- Sites that are lost, the history of sites, and planned maintenance.
ALTER TABLE sites ADD COLUMN lost BIGINT NOT NULL DEFAULT 0; -- when an operator said so; 0: nobody has

CREATE TABLE site_events (
    seq    INTEGER PRIMARY KEY,
    site   TEXT   NOT NULL,
    at     BIGINT NOT NULL,
    who    TEXT   NOT NULL,
    was    TEXT   NOT NULL,
    is_now TEXT   NOT NULL,
    why    TEXT   NOT NULL
);
CREATE INDEX site_events_site ON site_events (site, seq);
CREATE INDEX site_events_at ON site_events (at);

CREATE TABLE maintenance (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    site       TEXT   NOT NULL,
    nodes      TEXT   NOT NULL, -- hostlist; '': all
    begins     BIGINT NOT NULL,
    ends       BIGINT NOT NULL,
    reason     TEXT   NOT NULL,
    set_by     TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    removed_by TEXT   NOT NULL DEFAULT '',
    removed_at BIGINT NOT NULL DEFAULT 0 -- 0: it was not
);
CREATE INDEX maintenance_ends ON maintenance (ends);
