-- What each load machine contributed to a step of several, as JSON; none for steps of one.
ALTER TABLE step ADD COLUMN ranks TEXT;
