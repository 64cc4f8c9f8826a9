-- JSON; what decides how often cells are measured, null where the number of steps is fixed.
ALTER TABLE run ADD COLUMN repeat TEXT;
