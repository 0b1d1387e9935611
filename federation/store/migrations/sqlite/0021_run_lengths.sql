-- How long runs lasted, for forecasts of later ones.
CREATE TABLE run_lengths (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    start   BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL, -- on nodes of speed 1
    groups  BLOB   NOT NULL            -- eight bytes each, little-endian
);
