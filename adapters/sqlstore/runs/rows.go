package runs

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

// row is a run. Columns that may be NULL have types whose zero value is NULL.
type row struct {
	bun.BaseModel   `bun:"table:runs"`
	Seq             int64 `bun:",pk,autoincrement"`
	ID              string
	Kind            runs.Kind
	Status          runs.Status
	Name            text
	Tool            text
	Playbook        text
	Command         text
	Spec            text
	Labels          text
	Queue           string
	Priority        int
	Source          text
	SourceID        text
	RetryOf         text
	RerunOf         text
	ActorType       text
	ActorID         text
	ActorName       text
	Change          text `bun:"change_label"`
	Commit          text `bun:"commit_id"`
	Lineage         text
	ParentID        text
	ShardIndex      number
	ShardCount      number
	StepName        text
	Attempt         number
	Claimable       bool
	CreatedAt       db.Time
	QueuedAt        db.Time
	StartedAt       db.Time
	EndedAt         db.Time
	ExitCode        number
	Error           text
	Warnings        text
	Approvals       text
	Risk            text
	Decision        text
	Worker          text
	Epoch           int64
	Begun           bool
	LeaseExpiresAt  db.Time
	CancelRequested bool
	HostCounts      text
	HostsTouched    number
	EventCount      int64
	LogBytes        int64
	LogOmitted      int64
	LogSHA256       text `bun:"log_sha256"`
	Revision        int64
	ScopeID         number
	ToolVersion     text
	Hidden          text
	Isolation       text
	Gated           bool
	Slotted         bool
	Canceled        text
	Refreshing      bool
}

// specDocument is the document of the column spec.
type specDocument struct {
	runs.Spec

	Owner string `json:"owner,omitempty"`
}

// documents are the parts of a run that are stored apart from its row.
type documents struct {
	bun.BaseModel `bun:"table:run_documents"`
	RunSeq        number `bun:",pk"`
	Vars          text
	Env           text
	Outputs       text
	Graph         text
	ShardHosts    text
	LimitHosts    text

	AcceptedHostKeys text
}

// withDocuments means that the columns of run_documents follow those of the run.
const withDocuments = true

// models are the tables that raw SQL names, and the beginnings of the queries of runs.
type models struct {
	runs        db.Model[row]
	documents   db.Model[documents]
	labels      db.Model[runLabel]
	counts      db.Model[countRow]
	events      db.Model[eventRow]
	logs        db.Model[logRow]
	slots       db.Model[slotRow]
	waits       db.Model[waitRow]
	selectRun   string // without documents
	wholeRun    string
	runNoVars   string // without the variables, which are not read in lists
	returning   string
	documentsOf string
}

func newModels(d *db.DB) *models {
	m := &models{
		runs: db.ModelOf[row](d), documents: db.ModelOf[documents](d), labels: db.ModelOf[runLabel](d),
		counts: db.ModelOf[countRow](d),
		events: db.ModelOf[eventRow](d), logs: db.ModelOf[logRow](d), slots: db.ModelOf[slotRow](d),
		waits: db.ModelOf[waitRow](d),
	}
	run, docs := m.runs.Columns("r", ""), m.documents.Columns("d", "")
	const from = " FROM runs AS r LEFT JOIN run_documents AS d ON d.run_seq = r.seq"
	m.selectRun = "SELECT " + run + " FROM runs AS r"
	m.wholeRun = "SELECT " + run + ", " + docs + from
	m.runNoVars = "SELECT " + run + ", " + noVars(docs) + from
	m.returning = " RETURNING " + m.runs.Columns("runs", "")
	m.documentsOf = "SELECT " + docs + " FROM run_documents AS d WHERE d.run_seq = ?"
	return m
}

func noVars(columns string) string { return strings.Replace(columns, "d.vars", "NULL", 1) }

// scanRuns returns the records, and the scope of each. more are the targets of the columns that follow.
func (m *models) scanRuns(rows *sql.Rows, whole bool, more ...any) ([]*runs.Run, []number, error) {
	var w row
	var docs documents
	targets := m.runs.Targets(&w)
	if whole {
		targets = append(targets, m.documents.Targets(&docs)...)
	}
	targets = append(targets, more...)
	var out []*runs.Run
	var of []number
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, nil, err
		}
		r, err := w.run()
		if err == nil && whole {
			err = docs.decode(r)
		}
		if err != nil {
			return nil, nil, err
		}
		out, of = append(out, r), append(of, w.ScopeID)
	}
	return out, of, rows.Err()
}

// run returns the record without its documents.
func (w *row) run() (*runs.Run, error) {
	r := &runs.Run{
		ID: w.ID, Seq: w.Seq, Name: string(w.Name), Kind: w.Kind, Status: w.Status,
		Change: string(w.Change), Commit: string(w.Commit), Error: string(w.Error),
		Origin: runs.Origin{
			Source: runs.Source(w.Source), SourceID: string(w.SourceID), RetryOf: string(w.RetryOf), RerunOf: string(w.RerunOf),
		},
		Actor:     actor.Actor{Type: actor.Type(w.ActorType), ID: string(w.ActorID), Name: string(w.ActorName)},
		CreatedAt: w.CreatedAt.Time, QueuedAt: w.QueuedAt.Time, StartedAt: w.StartedAt.Time, EndedAt: w.EndedAt.Time,
		ParentID: string(w.ParentID), ShardIndex: w.ShardIndex.int(), ShardCount: w.ShardCount.int(),
		StepName: string(w.StepName), Attempt: w.Attempt.int(), Lineage: string(w.Lineage),
		Worker: string(w.Worker), Epoch: w.Epoch, Begun: w.Begun, LeaseExpiresAt: w.LeaseExpiresAt.Time,
		CancelRequested: w.CancelRequested, HostsTouched: w.HostsTouched.int(), EventCount: w.EventCount,
		LogBytes: w.LogBytes, LogOmitted: w.LogOmitted, LogSHA256: string(w.LogSHA256), Revision: w.Revision,
		ToolVersion: string(w.ToolVersion), Gated: w.Gated, Slotted: w.Slotted,
	}
	if w.ExitCode.valid {
		code := w.ExitCode.int()
		r.ExitCode = &code
	}
	spec := specDocument{}
	err := errors.Join(w.Spec.decode(&spec), w.Labels.decode(&r.Labels), w.Warnings.decode(&r.Warnings),
		w.Approvals.decode(&r.Approvals), w.Risk.decode(&r.Risk), w.Hidden.decode(&r.Hidden),
		w.Decision.decode(&r.Decision), w.HostCounts.decode(&r.Hosts), w.Isolation.decode(&r.Isolation),
		w.Canceled.decode(&r.Canceled))
	r.Spec, r.Origin.Owner = spec.Spec, spec.Owner
	r.Spec.Tool, r.Spec.Playbook, r.Spec.Command = string(w.Tool), string(w.Playbook), string(w.Command)
	r.Spec.Queue, r.Spec.Priority = w.Queue, w.Priority
	return r, err
}

// decode adds the documents to their record.
func (d *documents) decode(r *runs.Run) error {
	return errors.Join(d.Vars.decode(&r.Vars), d.Env.decode(&r.Spec.Env), d.Outputs.decode(&r.Outputs),
		d.Graph.decode(&r.Graph),
		d.ShardHosts.decode(&r.ShardHosts), d.LimitHosts.decode(&r.Spec.LimitHosts),
		d.AcceptedHostKeys.decode(&r.AcceptedHostKeys))
}

// rowOf returns the row of a run.
func rowOf(r *runs.Run, scope number) (*row, error) {
	spec, some := rest(r.Spec)
	own := specDocument{Spec: spec, Owner: r.Origin.Owner}
	docs := documentMaker{}
	w := &row{
		ID: r.ID, Kind: r.Kind, Status: r.Status, Name: textOf(r.Name), Change: textOf(r.Change), Commit: textOf(r.Commit),
		Error: textOf(r.Error),
		Tool:  textOf(r.Spec.Tool), Playbook: textOf(r.Spec.Playbook), Command: textOf(r.Spec.Command), Queue: r.Spec.Queue,
		Priority: r.Spec.Priority,
		Source:   textOf(string(r.Origin.Source)), SourceID: textOf(r.Origin.SourceID), RetryOf: textOf(r.Origin.RetryOf),
		RerunOf:   textOf(r.Origin.RerunOf),
		ActorType: textOf(string(r.Actor.Type)), ActorID: textOf(r.Actor.ID), ActorName: textOf(r.Actor.Name),
		CreatedAt: db.At(r.CreatedAt), QueuedAt: db.At(r.QueuedAt), StartedAt: db.At(r.StartedAt), EndedAt: db.At(r.EndedAt),
		ParentID: textOf(r.ParentID), ShardIndex: number{int64(r.ShardIndex), r.ParentID != ""},
		ShardCount: unlessZero(r.ShardCount),
		// The attempt of a step is never NULL, since a unique index accepts equal rows with NULL.
		StepName: textOf(r.StepName), Attempt: number{int64(r.Attempt), r.Attempt != 0 || r.Kind == runs.Step},
		Lineage:   textOf(r.Lineage),
		Claimable: claimable(r) && !r.Wait.Closed(), Worker: textOf(r.Worker), Epoch: r.Epoch, Begun: r.Begun,
		LeaseExpiresAt:  db.At(r.LeaseExpiresAt),
		CancelRequested: r.CancelRequested, HostsTouched: unlessZero(r.HostsTouched), EventCount: r.EventCount,
		LogBytes: r.LogBytes, LogOmitted: r.LogOmitted, LogSHA256: textOf(r.LogSHA256), Revision: r.Revision, ScopeID: scope,
		ToolVersion: textOf(r.ToolVersion), Gated: r.Gated, Slotted: r.Slotted,
		Spec: docs.make(own, some || own.Owner != ""), Labels: docs.make(r.Labels, len(r.Labels) > 0),
		Warnings:  docs.make(r.Warnings, len(r.Warnings) > 0),
		Approvals: docs.make(r.Approvals, r.Approvals != nil), Decision: docs.make(r.Decision, r.Decision != nil),
		Risk:       docs.make(r.Risk, r.Risk.Level != ""),
		HostCounts: docs.make(r.Hosts, len(r.Hosts) > 0), Hidden: docs.make(r.Hidden, !r.Hidden.Empty()),
		Isolation: docs.make(r.Isolation, r.Isolation != (runs.Isolation{})),
		Canceled:  docs.make(r.Canceled, r.Canceled != nil), Refreshing: r.Approvals.Awaiting(),
	}
	if r.ExitCode != nil {
		w.ExitCode = number{int64(*r.ExitCode), true}
	}
	return w, docs.err
}

// documentsOf returns the documents of a run; some reports whether it has any.
func documentsOf(r *runs.Run) (d documents, some bool, err error) {
	docs := documentMaker{}
	d = documents{
		RunSeq: number{r.Seq, true}, Vars: docs.make(r.Vars, len(r.Vars) > 0),
		Env:     docs.make(r.Spec.Env, len(r.Spec.Env) > 0),
		Outputs: docs.make(r.Outputs, len(r.Outputs) > 0), Graph: docs.make(r.Graph, r.Graph != nil),
		ShardHosts: docs.make(r.ShardHosts, r.ShardHosts != nil),
		LimitHosts: docs.make(r.Spec.LimitHosts, r.Spec.LimitHosts != nil),

		AcceptedHostKeys: docs.make(r.AcceptedHostKeys, len(r.AcceptedHostKeys) > 0),
	}
	return d, docs.some, docs.err
}

// documentMaker encodes documents and keeps the first error.
type documentMaker struct {
	some bool
	err  error
}

func (m *documentMaker) make(v any, present bool) text {
	if !present {
		return ""
	}
	m.some = true
	doc, err := db.Document(v)
	if err != nil {
		m.err = fmt.Errorf("make the documents of a run: %w", errors.Join(m.err, err))
	}
	return text(doc)
}
