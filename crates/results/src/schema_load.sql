-- Loads taken apart by transaction, operation and user, as JSON; steps of earlier versions were not.
ALTER TABLE step ADD COLUMN load TEXT;
