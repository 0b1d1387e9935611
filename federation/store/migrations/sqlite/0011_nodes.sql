-- The last word of operators about each node, and what has become of its state.
CREATE TABLE nodes (
    site    TEXT   NOT NULL,
    node    TEXT   NOT NULL,
    wish    TEXT   NOT NULL, -- DRAIN or RESUME
    owner   TEXT   NOT NULL,
    ticket  TEXT   NOT NULL,
    reason  TEXT   NOT NULL,
    requeue BOOLEAN NOT NULL,
    since   BIGINT NOT NULL,
    until   BIGINT NOT NULL, -- 0: for ever
    PRIMARY KEY (site, node)
) WITHOUT ROWID;

CREATE TABLE node_events (
    seq    INTEGER PRIMARY KEY,
    site   TEXT    NOT NULL,
    node   TEXT    NOT NULL,
    at     BIGINT  NOT NULL,
    who    TEXT    NOT NULL,
    was    TEXT    NOT NULL,
    is_now TEXT    NOT NULL,
    wanted BOOLEAN NOT NULL,
    why    TEXT    NOT NULL
);
CREATE INDEX node_events_node ON node_events (site, node, seq);
CREATE INDEX node_events_at ON node_events (at);
