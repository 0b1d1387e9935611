-- A priority is stored only where it was set: without one, --nice counts. What scontrol top has added stands apart; of what was more than 0 nobody can
-- tell whether it was that or an operator's word.
ALTER TABLE jobs ADD COLUMN top BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET
    top      = CASE WHEN priority > 0 THEN 0 ELSE priority + COALESCE(json_extract(spec, '$.nice'), 0) END,
    priority = CASE WHEN priority > 0 AND priority <> -COALESCE(json_extract(spec, '$.nice'), 0) THEN priority ELSE 0 END
WHERE priority <> 0 OR json_extract(spec, '$.nice') IS NOT NULL;
