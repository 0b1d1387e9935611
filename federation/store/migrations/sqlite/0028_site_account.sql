-- The account that the site ran it under; '': the one that was charged.
ALTER TABLE charges ADD COLUMN site_account TEXT NOT NULL DEFAULT '';
