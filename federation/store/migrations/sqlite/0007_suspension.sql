-- When a job was suspended or resumed last, and how long it had run until then, as JSON; '' of one that never was.
ALTER TABLE jobs ADD COLUMN suspension TEXT NOT NULL DEFAULT '';
