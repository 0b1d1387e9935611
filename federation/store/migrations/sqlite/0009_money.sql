-- Money is millionths of a dollar, not floating dollars.
ALTER TABLE jobs     ADD COLUMN micro BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN micro BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks    ADD COLUMN micro BIGINT NOT NULL DEFAULT 0;
UPDATE jobs     SET micro = CAST(ROUND(cost * 1000000) AS BIGINT) WHERE cost <> 0;
UPDATE attempts SET micro = CAST(ROUND(cost * 1000000) AS BIGINT) WHERE cost <> 0;
UPDATE tasks    SET micro = CAST(ROUND(cost * 1000000) AS BIGINT) WHERE cost <> 0;
ALTER TABLE jobs     DROP COLUMN cost;
ALTER TABLE attempts DROP COLUMN cost;
ALTER TABLE tasks    DROP COLUMN cost;
ALTER TABLE jobs     RENAME COLUMN micro TO cost;
ALTER TABLE attempts RENAME COLUMN micro TO cost;
ALTER TABLE tasks    RENAME COLUMN micro TO cost;
