-- How often a small cell was repeated, and in throughput mode each user's contribution (JSON).
ALTER TABLE step ADD COLUMN passes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN shares TEXT NOT NULL DEFAULT '[]';
