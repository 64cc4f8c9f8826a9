-- What was seen of the server's cache and storage, as JSON; steps without such evidence have none.
ALTER TABLE step ADD COLUMN server TEXT;
