-- +goose Up
-- What holds a run is a list now, with the approvals that were given. The risk is NULL for a run that was not graded.
ALTER TABLE runs RENAME COLUMN held_by TO approvals;
UPDATE runs SET approvals = '{"holds":[' || substr(approvals, 1, length(approvals) - 1) || ',"needed":1}]}'
WHERE approvals IS NOT NULL;
ALTER TABLE runs ADD COLUMN risk TEXT;
