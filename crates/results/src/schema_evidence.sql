-- What was seen of caches and durability, as JSON; steps of earlier versions looked at nothing.
ALTER TABLE step ADD COLUMN evidence TEXT NOT NULL DEFAULT '{}';
