-- Arrays whose tasks are jobs of their own.
ALTER TABLE jobs ADD COLUMN part_of     BIGINT NOT NULL DEFAULT 0;  -- ID of the array, 0 for any other job
ALTER TABLE jobs ADD COLUMN array_part  TEXT   NOT NULL DEFAULT ''; -- JSON; '' for none
ALTER TABLE jobs ADD COLUMN array_whole TEXT   NOT NULL DEFAULT ''; -- JSON; '' for none
CREATE INDEX jobs_part_of ON jobs (part_of) WHERE part_of <> 0;
