-- Requests that change a job or put it back into the queue.
ALTER TABLE requests ADD COLUMN change   TEXT   NOT NULL DEFAULT 'null'; -- JSON
ALTER TABLE requests ADD COLUMN restarts BIGINT NOT NULL DEFAULT 0;      -- of the job when it was asked for
