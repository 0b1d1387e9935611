-- Who holds a job, since when and why: JSON, '' for a job that is not held. And the name of who asked for something, for the job's history.
ALTER TABLE jobs ADD COLUMN holder TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN user_name TEXT NOT NULL DEFAULT '';
