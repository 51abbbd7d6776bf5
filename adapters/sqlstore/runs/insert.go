package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

const insertColumns = "id, kind, status, name, tool, playbook, command, spec, labels, queue, priority, source, source_id, " +
	"retry_of, rerun_of, actor_type, actor_id, actor_name, change_label, commit_id, lineage, parent_id, shard_index, " +
	"shard_count, step_name, attempt, created_at, queued_at, started_at, ended_at, exit_code, error, warnings, held_by, " +
	"decision, worker, epoch, begun, lease_expires_at, cancel_requested, host_counts, hosts_touched, event_count, " +
	"log_bytes, log_omitted, log_sha256, revision, claimable, scope_id"

var insertRun = "INSERT INTO runs (" + insertColumns + ") VALUES (" + marks(strings.Count(insertColumns, ",")+1) +
	") ON CONFLICT DO NOTHING RETURNING seq"

// Insert implements runs.Store. An actor's address is not kept.
func (s *Store) Insert(ctx context.Context, r *runs.Run) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	scope, err := s.scopeOf(ctx, q, r)
	if err != nil {
		return err
	}
	values, err := insertValues(r, scope)
	if err != nil {
		return err
	}
	err = q.QueryRowContext(ctx, insertRun, values...).Scan(&r.Seq)
	if errors.Is(err, sql.ErrNoRows) {
		return runs.RunStateChanged.New("the run exists already")
	}
	if err != nil {
		return db.Translate(fmt.Errorf("insert run %s: %w", r.ID, err))
	}
	if err := s.insertDocuments(ctx, q, r); err != nil {
		return err
	}
	if r.ParentID == "" {
		if err := s.index(ctx, q, r); err != nil {
			return err
		}
		if err := insertLabels(ctx, q, r); err != nil {
			return err
		}
	}
	return addCounts(ctx, q, countOf(r, r.Status, 1))
}

func insertValues(r *runs.Run, scope any) ([]any, error) {
	spec, err := document(rest(r.Spec))
	docs := make([]any, 5)
	for i, doc := range []struct {
		v       any
		present bool
	}{
		{r.Labels, len(r.Labels) > 0}, {r.Warnings, len(r.Warnings) > 0}, {r.HeldBy, r.HeldBy != nil},
		{r.Decision, r.Decision != nil}, {r.Hosts, len(r.Hosts) > 0},
	} {
		var failed error
		docs[i], failed = document(doc.v, doc.present)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("insert run %s: %w", r.ID, err)
	}
	var exit any
	if r.ExitCode != nil {
		exit = *r.ExitCode
	}
	var shard any
	if r.ParentID != "" {
		shard = r.ShardIndex
	}
	return []any{
		r.ID, string(r.Kind), string(r.Status), orNull(r.Name), orNull(r.Spec.Tool), orNull(r.Spec.Playbook),
		orNull(r.Spec.Command), spec, docs[0], r.Spec.Queue, r.Spec.Priority, orNull(string(r.Origin.Source)),
		orNull(r.Origin.SourceID), orNull(r.Origin.RetryOf), orNull(r.Origin.RerunOf), orNull(string(r.Actor.Type)),
		orNull(r.Actor.ID), orNull(r.Actor.Name), orNull(r.Change), orNull(r.Commit), orNull(r.Lineage),
		orNull(r.ParentID), shard, numberOrNull(r.ShardCount), orNull(r.StepName), stepAttempt(r),
		db.At(r.CreatedAt), db.At(r.QueuedAt), db.At(r.StartedAt), db.At(r.EndedAt), exit, orNull(r.Error), docs[1],
		docs[2], docs[3], orNull(r.Worker), r.Epoch, r.Begun, db.At(r.LeaseExpiresAt), r.CancelRequested, docs[4],
		numberOrNull(r.HostsTouched), r.EventCount, r.LogBytes, r.LogOmitted, orNull(r.LogSHA256), r.Revision,
		claimable(r), scope,
	}, nil
}

// stepAttempt is never NULL for a step: NULLs would not be told apart by the unique index.
func stepAttempt(r *runs.Run) any {
	if r.Kind == runs.Step {
		return r.Attempt
	}
	return numberOrNull(r.Attempt)
}

// claimable reports whether an executor may take the run once it is pending. Of the parents only a split whose
// hosts nobody has resolved yet has work for one.
func claimable(r *runs.Run) bool {
	if r.Kind == runs.Split {
		return r.ShardHosts == nil && r.ShardCount == 0
	}
	return !r.Kind.Parent()
}

// rest is what of a spec has no column of its own.
func rest(spec runs.Spec) (runs.Spec, bool) {
	spec.Tool, spec.Playbook, spec.Command, spec.Queue, spec.Priority = "", "", "", "", 0
	spec.Env, spec.LimitHosts = nil, nil
	c := &spec.Controls
	plain := c.Limit == "" && len(c.Tags)+len(c.SkipTags) == 0 && c.Forks == 0 && c.Verbosity == 0 && !c.DiffMode
	return spec, !plain || spec.InventoryID != "" || spec.Inventory != "" || spec.ProjectID != "" || spec.DryRun ||
		spec.Shards != 0 || spec.TimeoutSeconds != 0 || len(spec.CredentialIDs)+len(spec.Notifications)+len(spec.Templated) > 0 ||
		spec.RequireApproval || spec.TemplateID != ""
}

func (s *Store) insertDocuments(ctx context.Context, q bun.IDB, r *runs.Run) error {
	values := []any{r.Seq}
	some := false
	for _, doc := range []struct {
		v       any
		present bool
	}{
		{r.Vars, len(r.Vars) > 0}, {r.Spec.Env, len(r.Spec.Env) > 0}, {r.Outputs, len(r.Outputs) > 0}, {r.Graph, r.Graph != nil},
		{r.ShardHosts, r.ShardHosts != nil}, {r.Spec.LimitHosts, r.Spec.LimitHosts != nil},
	} {
		v, err := document(doc.v, doc.present)
		if err != nil {
			return fmt.Errorf("insert run %s: %w", r.ID, err)
		}
		some = some || doc.present
		values = append(values, v)
	}
	if !some {
		return nil
	}
	_, err := exec(ctx, q, "INSERT INTO run_documents (run_seq, vars, env, outputs, graph, shard_hosts, limit_hosts) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?)", values...)
	return err
}

// putDocument stores one document of a run beside those that it has.
func putDocument(ctx context.Context, q bun.IDB, seq int64, column string, v any) error {
	doc, err := document(v, true)
	if err != nil {
		return err
	}
	_, err = exec(ctx, q, "INSERT INTO run_documents (run_seq, "+column+") VALUES (?, ?) "+
		"ON CONFLICT (run_seq) DO UPDATE SET "+column+" = excluded."+column, seq, doc)
	return err
}

func insertLabels(ctx context.Context, q bun.IDB, r *runs.Run) error {
	if len(r.Labels) == 0 {
		return nil
	}
	var rows [][]any
	for key, value := range r.Labels {
		rows = append(rows, []any{r.Seq, key, value, db.At(r.CreatedAt)})
	}
	slices.SortFunc(rows, func(a, b []any) int { return compareText(a[1], b[1]) })
	return insertRows(ctx, q, "INSERT INTO run_labels (run_seq, key, value, created_at) VALUES ", "", rows)
}
