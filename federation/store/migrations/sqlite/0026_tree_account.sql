-- The account of the tree that a job was submitted under. Of those that have not ended it is what the tree says now.
ALTER TABLE jobs ADD COLUMN tree_account TEXT NOT NULL DEFAULT '';
UPDATE jobs SET tree_account = COALESCE(
    (SELECT name FROM account_records WHERE kind = 'account' AND name = lower(json_extract(jobs.spec, '$.account'))),
    (SELECT account FROM account_records WHERE kind = 'user' AND name = lower(jobs.user_name) AND is_default LIMIT 1),
    'root')
WHERE live AND EXISTS (SELECT 1 FROM account_records);
