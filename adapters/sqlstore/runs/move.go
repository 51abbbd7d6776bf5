package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// change collects the assignments and conditions of one conditional UPDATE of a run. It is raw because each claim and
// each end of a run executes one, and only repeated texts stay prepared.
type change struct {
	set  []string
	args []any
}

func (c *change) put(assignment string, args ...any) {
	c.set = append(c.set, assignment)
	c.args = append(c.args, args...)
}

// apply updates the run if the condition holds, and returns the new record or nil. more are scanned from further
// columns that the condition's text returns.
func (s *Store) apply(ctx context.Context, q bun.IDB, c *change, w where, more ...any) (*runs.Run, error) {
	rows, err := q.QueryContext(ctx, "UPDATE runs SET "+strings.Join(c.set, ", ")+" WHERE "+w.condition+
		s.models.returning+w.columns, append(c.args, w.args...)...)
	if err != nil {
		return nil, db.Translate(err)
	}
	found, of, err := s.models.scanRuns(rows, !withDocuments, more...)
	if err = db.Translate(errors.Join(err, rows.Close())); err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Objects, err = s.objectsOf(ctx, q, of[0])
	return found[0], err
}

// where selects the run of a change, and columns that are returned after those of its row. The arguments are those of
// both.
type where struct {
	condition string
	columns   string
	args      []any
}

// hasDocuments is a column that tells whether a run has documents. Most runs have none, and need no query for them.
const hasDocuments = ", EXISTS (SELECT 1 FROM run_documents AS d WHERE d.run_seq = runs.seq)"

// underLease is the condition that a lease is valid.
const underLease = "id = ? AND worker = ? AND epoch = ? AND status = 'running'"

func leaseArgs(l runs.Lease) []any { return []any{l.RunID, l.Worker, l.Epoch} }

// Move returns RunStateChanged for a transition that the state table lacks. An ended run keeps the name of its
// holder, whose lease is over.
func (s *Store) Move(ctx context.Context, m runs.Move) (*runs.Run, error) {
	q := s.d.InUnit(ctx)
	if !runs.CanMove(m.From, m.To) {
		return nil, s.refusal(ctx, q, m.ID, m.Lease)
	}
	c, err := s.moveChange(ctx, q, m)
	if err != nil {
		return nil, err
	}
	w := where{condition: "id = ? AND status = ?", columns: hasDocuments, args: []any{m.ID, string(m.From)}}
	if m.Lease != nil {
		w.condition, w.args = w.condition+" AND worker = ? AND epoch = ?", append(w.args, m.Lease.Worker, m.Lease.Epoch)
	}
	var documents bool
	r, err := s.apply(ctx, q, c, w, &documents)
	if err != nil {
		return nil, fmt.Errorf("move run %s: %w", m.ID, err)
	}
	if r == nil {
		return nil, s.refusal(ctx, q, m.ID, m.Lease)
	}
	if err := s.follow(ctx, q, r, m); err != nil {
		return nil, err
	}
	if !documents && len(m.Outputs)+len(m.AcceptedHostKeys) == 0 {
		return r, nil
	}
	return r, s.readDocuments(ctx, q, r, noVars(s.models.documentsOf))
}

// follow updates the data that depend on a run's state.
func (s *Store) follow(ctx context.Context, q bun.IDB, r *runs.Run, m runs.Move) error {
	if err := s.statusEvent(ctx, q, r, m.From, m.At); err != nil {
		return err
	}
	if m.From == runs.PendingApproval && m.To == runs.Pending {
		if err := s.demandLate(ctx, q, r); err != nil {
			return err
		}
	}
	if m.Error != "" && r.ParentID == "" {
		if err := s.index(ctx, r); err != nil {
			return err
		}
	}
	if len(m.Outputs) > 0 {
		if err := putDocument(ctx, q, r.Seq, "outputs", m.Outputs); err != nil {
			return err
		}
	}
	if len(m.AcceptedHostKeys) > 0 {
		if err := putDocument(ctx, q, r.Seq, "accepted_host_keys", m.AcceptedHostKeys); err != nil {
			return err
		}
	}
	return s.addCounts(ctx, countOf(r, m.From, -1), countOf(r, m.To, 1))
}

func (s *Store) moveChange(ctx context.Context, q bun.IDB, m runs.Move) (*change, error) {
	c := &change{}
	c.put("status = ?", string(m.To))
	c.put("revision = revision + 1")
	c.put("event_count = event_count + 1")
	switch {
	case m.To == runs.Pending:
		c.put("queued_at = ?", db.At(m.At))
		c.dropLease()
	case m.To.Terminal():
		c.put("ended_at = ?", db.At(m.At))
		c.put("lease_expires_at = NULL")
		if m.DropLease {
			c.dropLease()
		}
	case m.DropLease:
		c.dropLease()
	}
	c.results(m)
	if len(m.Warnings) > 0 {
		if err := s.addWarnings(ctx, q, c, m.ID, m.Warnings); err != nil {
			return nil, err
		}
	}
	return c, c.documents(m)
}

func (c *change) dropLease() {
	c.put("worker = NULL")
	c.put("lease_expires_at = NULL")
	c.put("begun = FALSE")
}

func (c *change) results(m runs.Move) {
	if m.ExitCode != nil {
		c.put("exit_code = ?", *m.ExitCode)
	}
	if m.Error != "" {
		c.put("error = ?", clean(m.Error))
	}
	if m.Commit != "" {
		c.put("commit_id = ?", clean(m.Commit))
	}
	if m.ToolVersion != "" {
		c.put("tool_version = ?", clean(m.ToolVersion))
	}
	if m.Touched != 0 {
		c.put("hosts_touched = ?", m.Touched)
	}
	if m.LogBytes != 0 {
		c.put("log_bytes = ?", m.LogBytes)
	}
	if m.Omitted != 0 {
		c.put("log_omitted = ?", m.Omitted)
	}
	if m.LogSHA256 != "" {
		c.put("log_sha256 = ?", m.LogSHA256)
	}
	if !m.StartedAt.IsZero() {
		c.put("started_at = ?", db.At(m.StartedAt))
	}
}

func (c *change) documents(m runs.Move) error {
	if m.Counts != nil {
		doc := ""
		if len(m.Counts) > 0 {
			var err error
			if doc, err = db.Document(m.Counts); err != nil {
				return err
			}
		}
		c.put("host_counts = ?", db.OrNull(doc))
	}
	if m.Isolation != (runs.Isolation{}) {
		doc, err := db.Document(m.Isolation)
		if err != nil {
			return err
		}
		c.put("isolation = ?", doc)
	}
	if err := c.decision(m.Decision); err != nil {
		return err
	}
	if err := c.canceled(m.Canceled); err != nil {
		return err
	}
	return c.approvals(m.Approvals)
}

// canceled stores the first request to cancel a run.
func (c *change) canceled(by *runs.Cancellation) error {
	if by == nil {
		return nil
	}
	doc, err := db.Document(by)
	c.put("canceled = coalesce(canceled, ?)", doc)
	return err
}

func (c *change) decision(d *runs.Decision) error {
	if d == nil {
		return nil
	}
	doc, err := db.Document(d)
	if err == nil {
		c.put("decision = ?", doc)
	}
	return err
}

func (c *change) approvals(a *runs.Approvals) error {
	if a == nil {
		return nil
	}
	doc, err := db.Document(a)
	c.put("approvals = ?", doc)
	c.put("refreshing = ?", a.Awaiting())
	return err
}

func (c *change) risk(r *runs.Risk) error {
	if r == nil {
		return nil
	}
	doc, err := db.Document(r)
	c.put("risk = ?", doc)
	return err
}

// addWarnings appends to the run's warnings. It locks the row for that.
func (s *Store) addWarnings(ctx context.Context, q bun.IDB, c *change, id string, more []runs.Warning) error {
	var have []runs.Warning
	if err := s.lockDocument(ctx, q, id, "warnings", &have); err != nil {
		return err
	}
	doc, err := db.Document(append(have, more...))
	c.put("warnings = ?", doc)
	return err
}

// lockDocument reads a document of a run's row, and locks the row.
func (s *Store) lockDocument(ctx context.Context, q bun.IDB, id, column string, into any) error {
	stored, ok, err := db.QueryRow[string](ctx, q,
		"SELECT coalesce("+column+", '') FROM runs WHERE id = ?"+s.dialect.ForUpdate(), id)
	if err == nil && !ok {
		return notFound(id)
	}
	if err == nil {
		err = text(stored).decode(into)
	}
	return db.Wrap(err, "read the %s of run %s", column, id)
}

// refusal returns the fault for a conditional UPDATE of a run that changed nothing.
func (s *Store) refusal(ctx context.Context, q bun.IDB, id string, l *runs.Lease) error {
	w, ok, err := db.QueryRow[row](ctx, q, "SELECT status, worker, epoch FROM runs WHERE id = ?", id)
	switch {
	case err != nil:
		return fmt.Errorf("find run %s: %w", id, err)
	case !ok:
		return notFound(id)
	case l != nil && (w.Status != runs.Running || string(w.Worker) != l.Worker || w.Epoch != l.Epoch):
		return leaseLost(id)
	}
	return runs.RunStateChanged.New("the run is %s", w.Status)
}

func leaseLost(id string) error {
	return runs.LeaseLost.New("the lease on run %q is over", id)
}

// readDocuments adds the documents to a record that was read from its row.
func (s *Store) readDocuments(ctx context.Context, q bun.IDB, r *runs.Run, query string) error {
	var docs documents
	err := q.QueryRowContext(ctx, query, r.Seq).Scan(s.models.documents.Targets(&docs)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = docs.decode(r)
	}
	return db.Wrap(err, "read the documents of run %s", r.ID)
}

// statusEvent appends the event of a transition. The row already counts it. Nothing follows the event of an end, so
// that it is stored with those of other units.
func (s *Store) statusEvent(ctx context.Context, q bun.IDB, r *runs.Run, from runs.Status, at time.Time) error {
	list := []runs.Event{runs.StatusEvent(r, from, at)}
	if !r.Status.Terminal() {
		return s.storeEvents(ctx, q, r.Seq, list)
	}
	return s.storeEventsLast(ctx, r.Seq, list)
}
