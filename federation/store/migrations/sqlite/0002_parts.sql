-- Tasks of arrays and components of heterogeneous jobs that are jobs of their own.
ALTER TABLE jobs ADD COLUMN part_of     BIGINT NOT NULL DEFAULT 0;  -- ID of the array or of the leader, 0 for any other job
ALTER TABLE jobs ADD COLUMN component   BIGINT NOT NULL DEFAULT 0;  -- number of the component, 0 for any other job
ALTER TABLE jobs ADD COLUMN array_part  TEXT   NOT NULL DEFAULT ''; -- JSON; '' for none
ALTER TABLE jobs ADD COLUMN array_whole TEXT   NOT NULL DEFAULT ''; -- JSON; '' for none
CREATE INDEX jobs_part_of ON jobs (part_of) WHERE part_of <> 0;
