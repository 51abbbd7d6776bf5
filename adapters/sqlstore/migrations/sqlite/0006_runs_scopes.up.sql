-- +goose Up
-- The sets of objects that decide who may read a run, found by their digest: the object itself where there is one. They stay when no run refers to them any more.
CREATE TABLE run_scopes (
    id     INTEGER PRIMARY KEY NOT NULL,
    digest TEXT NOT NULL UNIQUE
);

CREATE TABLE run_scope_objects (
    scope_id BIGINT NOT NULL,
    object   TEXT NOT NULL,
    PRIMARY KEY (scope_id, object)
);
CREATE INDEX run_scope_objects_object ON run_scope_objects (object, scope_id);

-- NULL is a run that names nothing but the default queue, as most do.
ALTER TABLE runs ADD COLUMN scope_id BIGINT;

INSERT INTO run_scopes (digest) SELECT DISTINCT 'queue:' || queue FROM runs WHERE parent_id IS NULL AND queue <> 'default';
INSERT INTO run_scope_objects (scope_id, object) SELECT id, digest FROM run_scopes;
UPDATE runs SET scope_id = (SELECT s.id FROM run_scopes AS s WHERE s.digest = 'queue:' || runs.queue)
WHERE parent_id IS NULL AND queue <> 'default';

-- A pipeline names its own queue and those of its steps, which need not have run.
CREATE TABLE backfill_objects (
    run_id TEXT NOT NULL,
    object TEXT NOT NULL
);
INSERT INTO backfill_objects (run_id, object)
SELECT id, 'queue:' || queue FROM runs WHERE parent_id IS NULL AND kind = 'pipeline'
UNION
SELECT p.id, 'queue:' || c.queue FROM runs AS p JOIN runs AS c ON c.parent_id = p.id WHERE p.parent_id IS NULL AND p.kind = 'pipeline'
UNION
SELECT r.id, 'queue:' || json_extract(s.value, '$.queue') FROM runs AS r JOIN run_documents AS d ON d.run_seq = r.seq,
    json_each(CASE WHEN json_valid(d.graph) THEN d.graph ELSE '{}' END, '$.steps') AS s
WHERE r.parent_id IS NULL AND r.kind = 'pipeline' AND coalesce(json_extract(s.value, '$.queue'), '') <> '';

-- A set of several is called by the first pipeline that has it. A run that is stored later has the same set by another name.
CREATE TABLE backfill_sets (
    run_id  TEXT PRIMARY KEY NOT NULL,
    objects TEXT NOT NULL,
    digest  TEXT NOT NULL
);
INSERT INTO backfill_sets (run_id, objects, digest)
SELECT run_id, string_agg(object, ' ' ORDER BY object), '' FROM backfill_objects GROUP BY run_id HAVING count(*) > 1;
UPDATE backfill_sets SET digest = n.digest
FROM (SELECT objects, 'backfill:' || min(run_id) AS digest FROM backfill_sets GROUP BY objects) AS n WHERE n.objects = backfill_sets.objects;
INSERT INTO run_scopes (digest) SELECT DISTINCT digest FROM backfill_sets;
INSERT INTO run_scope_objects (scope_id, object)
SELECT s.id, o.object FROM backfill_objects AS o JOIN run_scopes AS s ON s.digest = 'backfill:' || o.run_id;
UPDATE runs SET scope_id = s.id FROM backfill_sets AS b JOIN run_scopes AS s ON s.digest = b.digest WHERE runs.id = b.run_id;
DROP TABLE backfill_sets;
DROP TABLE backfill_objects;

-- Children name what their parent does.
UPDATE runs SET scope_id = (SELECT p.scope_id FROM runs AS p WHERE p.id = runs.parent_id)
WHERE parent_id IN (SELECT p.id FROM runs AS p WHERE p.parent_id IS NULL AND p.scope_id IS NOT NULL);

CREATE INDEX runs_scope ON runs (scope_id, created_at, seq) WHERE scope_id IS NOT NULL AND parent_id IS NULL;
-- A list that is narrowed to its reader walks one of these and then needs no look at the row.
DROP INDEX runs_created;
CREATE INDEX runs_created ON runs (created_at, seq, scope_id) WHERE parent_id IS NULL;
DROP INDEX runs_queue;
CREATE INDEX runs_queue ON runs (queue, created_at, seq, scope_id) WHERE parent_id IS NULL;
DROP INDEX runs_status;
CREATE INDEX runs_status ON runs (status, created_at, seq, tool, queue, source, scope_id) WHERE parent_id IS NULL;

-- By which token of its account a ticket was minted. Those of before name none.
ALTER TABLE stream_tickets ADD COLUMN token_id TEXT;

-- A binary that knows no scopes would show runs of restricted queues to everybody.
UPDATE schema_floor SET min_binary = 6;
