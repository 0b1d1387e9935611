-- How long jobs waited at sites that others use too, for forecasts of later ones.
CREATE TABLE past_waits (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    site    TEXT   NOT NULL,
    since   BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    traits  BLOB   NOT NULL            -- four bytes each, little-endian
);
