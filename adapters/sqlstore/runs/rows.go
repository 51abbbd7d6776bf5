package runs

import (
	"database/sql"
	"strings"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

// runColumns are the columns of a record, in the order of (*row).targets.
const runColumns = "seq, id, kind, status, name, tool, playbook, command, spec, labels, queue, priority, source, source_id, " +
	"retry_of, rerun_of, actor_type, actor_id, actor_name, change_label, commit_id, lineage, parent_id, shard_index, " +
	"shard_count, step_name, attempt, created_at, queued_at, started_at, ended_at, exit_code, error, warnings, held_by, " +
	"decision, worker, epoch, begun, lease_expires_at, cancel_requested, host_counts, hosts_touched, event_count, " +
	"log_bytes, log_omitted, log_sha256, revision, scope_id"

// withDocuments says that the columns of run_documents follow those of the run.
const withDocuments = true

var (
	selectRun    = "SELECT " + prefixed("r.", runColumns) + " FROM runs AS r"
	selectWhole  = "SELECT " + prefixed("r.", runColumns) + ", d.vars, " + documentTail
	selectNoVars = "SELECT " + prefixed("r.", runColumns) + ", NULL, " + documentTail
)

const documentTail = "d.env, d.outputs, d.graph, d.shard_hosts, d.limit_hosts FROM runs AS r " +
	"LEFT JOIN run_documents AS d ON d.run_seq = r.seq"

func prefixed(prefix, columns string) string {
	return prefix + strings.ReplaceAll(columns, ", ", ", "+prefix)
}

// row receives the columns of one run. Columns that may be NULL have types whose zero value is NULL.
type row struct {
	seq, priority, epoch, events, logBytes, logOmitted, revision    int64
	id, kind, status, queue                                         string
	name, tool, playbook, command, source, sourceID, retryOf        text
	rerunOf, actorType, actorID, actorName, change, commit, lineage text
	parentID, stepName, failure, worker, logSHA256                  text
	spec, labels, warnings, heldBy, decision, hostCounts            text
	vars, env, outputs, graph, shardHosts, limitHosts               text
	shardIndex, shardCount, attempt, hostsTouched, exitCode, scope  number
	createdAt, queuedAt, startedAt, endedAt, leaseExpiresAt         db.Time
	begun, cancelRequested                                          bool
}

func (w *row) targets(documents bool) []any {
	t := []any{
		&w.seq, &w.id, &w.kind, &w.status, &w.name, &w.tool, &w.playbook, &w.command, &w.spec, &w.labels, &w.queue,
		&w.priority, &w.source, &w.sourceID, &w.retryOf, &w.rerunOf, &w.actorType, &w.actorID, &w.actorName, &w.change,
		&w.commit, &w.lineage, &w.parentID, &w.shardIndex, &w.shardCount, &w.stepName, &w.attempt, &w.createdAt,
		&w.queuedAt, &w.startedAt, &w.endedAt, &w.exitCode, &w.failure, &w.warnings, &w.heldBy, &w.decision, &w.worker,
		&w.epoch, &w.begun, &w.leaseExpiresAt, &w.cancelRequested, &w.hostCounts, &w.hostsTouched, &w.events,
		&w.logBytes, &w.logOmitted, &w.logSHA256, &w.revision, &w.scope,
	}
	if documents {
		t = append(t, &w.vars, &w.env, &w.outputs, &w.graph, &w.shardHosts, &w.limitHosts)
	}
	return t
}

// scanRuns returns the records, and the scope of each.
func scanRuns(rows *sql.Rows, documents bool) ([]*runs.Run, []number, error) {
	var w row
	targets := w.targets(documents)
	var out []*runs.Run
	var of []number
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, nil, err
		}
		r, err := w.run()
		if err != nil {
			return nil, nil, err
		}
		out, of = append(out, r), append(of, w.scope)
	}
	return out, of, rows.Err()
}

// run makes the record. The documents of columns that were not selected stay empty.
func (w *row) run() (*runs.Run, error) {
	r := &runs.Run{
		ID: w.id, Seq: w.seq, Name: string(w.name), Kind: runs.Kind(w.kind), Status: runs.Status(w.status),
		Change: string(w.change), Commit: string(w.commit), Error: string(w.failure),
		Origin: runs.Origin{
			Source: runs.Source(w.source), SourceID: string(w.sourceID), RetryOf: string(w.retryOf), RerunOf: string(w.rerunOf),
		},
		Actor:     actor.Actor{Type: actor.Type(w.actorType), ID: string(w.actorID), Name: string(w.actorName)},
		CreatedAt: w.createdAt.Time, QueuedAt: w.queuedAt.Time, StartedAt: w.startedAt.Time, EndedAt: w.endedAt.Time,
		ParentID: string(w.parentID), ShardIndex: w.shardIndex.int(), ShardCount: w.shardCount.int(),
		StepName: string(w.stepName), Attempt: w.attempt.int(), Lineage: string(w.lineage),
		Worker: string(w.worker), Epoch: w.epoch, Begun: w.begun, LeaseExpiresAt: w.leaseExpiresAt.Time,
		CancelRequested: w.cancelRequested, HostsTouched: w.hostsTouched.int(), EventCount: w.events,
		LogBytes: w.logBytes, LogOmitted: w.logOmitted, LogSHA256: string(w.logSHA256), Revision: w.revision,
	}
	if w.exitCode.valid {
		code := w.exitCode.int()
		r.ExitCode = &code
	}
	if err := w.documents(r); err != nil {
		return nil, err
	}
	r.Spec.Tool, r.Spec.Playbook, r.Spec.Command = string(w.tool), string(w.playbook), string(w.command)
	r.Spec.Queue, r.Spec.Priority = w.queue, int(w.priority)
	return r, nil
}

func (w *row) documents(r *runs.Run) error {
	for _, doc := range []struct {
		from text
		to   any
	}{
		{w.spec, &r.Spec}, {w.labels, &r.Labels}, {w.warnings, &r.Warnings}, {w.heldBy, &r.HeldBy},
		{w.decision, &r.Decision}, {w.hostCounts, &r.Hosts}, {w.vars, &r.Vars}, {w.env, &r.Spec.Env},
		{w.outputs, &r.Outputs}, {w.graph, &r.Graph}, {w.shardHosts, &r.ShardHosts}, {w.limitHosts, &r.Spec.LimitHosts},
	} {
		if err := doc.from.decode(doc.to); err != nil {
			return err
		}
	}
	return nil
}
