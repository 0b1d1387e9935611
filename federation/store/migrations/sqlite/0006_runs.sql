-- The runs of an attempt that its site has requeued by itself, as JSON.
ALTER TABLE attempts ADD COLUMN runs TEXT NOT NULL DEFAULT 'null';
