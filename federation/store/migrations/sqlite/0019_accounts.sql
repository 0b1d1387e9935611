-- The federation's account tree: accounts, users' associations, QOS.
CREATE TABLE account_records (
    kind         TEXT    NOT NULL, -- account, user, qos
    account      TEXT    NOT NULL, -- of a user
    name         TEXT    NOT NULL,
    parent       TEXT    NOT NULL, -- of an account
    is_default   BOOLEAN NOT NULL, -- of a user
    coordinators TEXT    NOT NULL, -- JSON list
    settings     TEXT    NOT NULL, -- JSON: options with their values
    source       TEXT    NOT NULL, -- the site that it was imported from
    PRIMARY KEY (kind, account, name)
) WITHOUT ROWID;

-- What the federation has made in the accounting of a site: it may remove that again.
CREATE TABLE account_made (
    site    TEXT NOT NULL,
    kind    TEXT NOT NULL,
    account TEXT NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (site, kind, account, name)
) WITHOUT ROWID;
