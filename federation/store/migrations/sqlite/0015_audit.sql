-- Who did what: appended to, and never changed. Old entries are deleted where the configuration says so.
CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         BIGINT  NOT NULL,
    who        TEXT    NOT NULL,
    uid        BIGINT  NOT NULL,
    role       TEXT    NOT NULL,
    from_where TEXT    NOT NULL, -- socket, TLS, site:NAME, daemon
    verb       TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- job, node, site, account ...
    object     TEXT    NOT NULL,
    was        TEXT    NOT NULL,
    is_now     TEXT    NOT NULL,
    why        TEXT    NOT NULL,
    ticket     TEXT    NOT NULL,
    result     TEXT    NOT NULL  -- empty: done or accepted
);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_object ON audit (object, seq);
CREATE TRIGGER audit_is_appended_to BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log do not change');
END;
