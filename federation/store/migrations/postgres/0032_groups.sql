-- As migrations/sqlite/0032_groups.sql.
ALTER TABLE ledger_groups ADD COLUMN job_group TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger_groups DROP CONSTRAINT ledger_groups_site_account_user_name_qos_part_gpu_name_key;
ALTER TABLE ledger_groups ADD UNIQUE (site, account, user_name, qos, part, gpu, name, job_group);
