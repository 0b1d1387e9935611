-- Ten thousand requests may wait that name tasks of one array, and each new one asks whether there is one like it.
CREATE INDEX requests_same ON requests (job_id, substr(tasks, 1, 32));
DROP INDEX requests_job;
