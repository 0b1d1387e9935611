-- What a drain does with the jobs that run on the node: requeue, move, or '' for nothing.
ALTER TABLE nodes ADD COLUMN jobs TEXT NOT NULL DEFAULT '';
UPDATE nodes SET jobs = 'requeue' WHERE requeue;
ALTER TABLE nodes DROP COLUMN requeue;
