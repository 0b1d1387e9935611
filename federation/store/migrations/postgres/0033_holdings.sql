-- Each commit adds a row (pgholdings.go).
ALTER TABLE holdings DROP CONSTRAINT holdings_pkey;
ALTER TABLE holdings RESET (fillfactor);
CREATE INDEX holdings_of ON holdings (uid);
