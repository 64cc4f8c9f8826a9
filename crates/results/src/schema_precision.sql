-- JSON; what decides how often cells are measured, null where the number of steps is fixed.
ALTER TABLE run ADD COLUMN repeat TEXT;

-- JSON; what the response times are worth at their usual quantiles, null where nobody looked.
ALTER TABLE step ADD COLUMN response_sample_size TEXT;
