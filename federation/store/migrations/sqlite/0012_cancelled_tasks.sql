-- Who has cancelled a task of an array while it waited.
ALTER TABLE tasks ADD COLUMN cancel BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE tasks ADD COLUMN cancel_by BIGINT NOT NULL DEFAULT 0;
