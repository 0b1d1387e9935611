-- Where a job is to go, of a request to move it.
ALTER TABLE requests ADD COLUMN move TEXT NOT NULL DEFAULT 'null'; -- JSON
