-- What providers bill for sites, by billing period, as it was imported last.
CREATE TABLE bills (
    site        TEXT    NOT NULL,
    from_day    BIGINT  NOT NULL, -- UTC days since 1970; until_day is the one after the last
    until_day   BIGINT  NOT NULL,
    told        BIGINT  NOT NULL, -- Unix seconds
    closed      BOOLEAN NOT NULL,
    format      TEXT    NOT NULL,
    file_rows   BIGINT  NOT NULL,
    imported_by TEXT    NOT NULL,
    imported_at BIGINT  NOT NULL, -- Unix seconds
    lines       TEXT    NOT NULL, -- JSON
    PRIMARY KEY (site, from_day, until_day)
) WITHOUT ROWID;
