-- How many steps a run has that ended; null while it is under way, was interrupted, or ended before this column was there.
ALTER TABLE run ADD COLUMN steps_done INTEGER;
