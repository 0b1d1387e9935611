-- How runs ended whose lengths are kept: 0 for those that an earlier version has noted, see federation.RunEnding.
ALTER TABLE run_lengths ADD COLUMN ending INTEGER NOT NULL DEFAULT 0;
