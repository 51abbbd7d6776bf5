package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// changeRow is what a change needs of a run.
type changeRow struct {
	Seq         int64
	ID          string
	ChangeLabel string
	Status      runs.Status
	RetryOf     text
	RerunOf     text
	ActorType   text
	ActorID     text
	ActorName   text
	Decision    text
	Canceled    text
	Approvals   text
	Hidden      text
	CreatedAt   db.Time
	EndedAt     db.Time
}

// ofChange selects the runs that name a change, any of them if it is empty.
func ofChange(change string) []sqlText {
	where := []sqlText{sqlOf("r.parent_id IS NULL AND r.change_label IS NOT NULL")}
	if change != "" {
		where = append(where, sqlOf("r.change_label = ?", change), showing(change))
	}
	return where
}

// may returns the condition that a reader may read a run, empty for any run.
func (s *Store) may(ctx context.Context, reader access.Scope) (sqlText, error) {
	if reader.All {
		return sqlText{}, nil
	}
	v, err := s.view(ctx, reader)
	if err != nil || !v.hides {
		return sqlText{}, err
	}
	if v.nothing() {
		return sqlOf("1 = 0"), nil
	}
	return v.term().residual(nil), nil
}

func (s *Store) ChangeRuns(
	ctx context.Context, change string, limit int, reader access.Scope,
) ([]estate.ChangeRun, error) {
	may, err := s.may(ctx, reader)
	if err != nil {
		return nil, fmt.Errorf("read the runs of changes: %w", err)
	}
	where := ofChange(change)
	if may.text != "" {
		where = append(where, may)
	}
	all := join(where, " AND ")
	rows, err := db.Query[changeRow](ctx, s.d.Read(ctx), "SELECT r.seq, r.id, r.change_label, r.status, r.retry_of, "+
		"r.rerun_of, r.actor_type, r.actor_id, r.actor_name, r.decision, r.canceled, r.approvals, r.hidden, r.created_at, "+
		"r.ended_at FROM runs AS r WHERE "+all.text+" ORDER BY r.created_at DESC, r.seq DESC"+db.Limit,
		append(all.args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read the runs of changes: %w", err)
	}
	out := make([]estate.ChangeRun, len(rows))
	for i := range rows {
		if out[i], err = rows[i].run(); err != nil {
			return nil, fmt.Errorf("read run %s: %w", rows[i].ID, err)
		}
	}
	return out, nil
}

func (w *changeRow) run() (estate.ChangeRun, error) {
	var decision *runs.Decision
	var canceled *runs.Cancellation
	var approvals struct{ Given []runs.Approval }
	var hidden runs.Hidden
	for _, doc := range []struct {
		text text
		to   any
	}{{w.Decision, &decision}, {w.Canceled, &canceled}, {w.Approvals, &approvals}, {w.Hidden, &hidden}} {
		if err := doc.text.decode(doc.to); err != nil {
			return estate.ChangeRun{}, err
		}
	}
	who := []actor.Actor{{Type: actor.Type(w.ActorType), ID: string(w.ActorID), Name: string(w.ActorName)}}
	if decision != nil {
		who = append(who, decision.By)
	}
	if canceled != nil {
		who = append(who, canceled.By)
	}
	for _, a := range approvals.Given {
		who = append(who, a.By)
	}
	out := estate.ChangeRun{Seq: w.Seq, ID: w.ID, Change: w.ChangeLabel, Status: w.Status, RetryOf: string(w.RetryOf),
		RerunOf: string(w.RerunOf), CreatedAt: w.CreatedAt.Time, EndedAt: w.EndedAt.Time}
	if hidden.Has(w.ChangeLabel) {
		out.Change = ""
	}
	for _, a := range who {
		if name := cmp.Or(a.Name, a.ID, string(a.Type)); name != "" && !slices.Contains(out.Actors, name) {
			out.Actors = append(out.Actors, name)
		}
	}
	return out, nil
}

// touched selects the lists of runs, by their places, with the hosts that these and their children touched. It is empty
// for no runs.
func touched(lists [][]int64) string {
	var rows []string
	for i, list := range lists {
		for _, seq := range list {
			rows = append(rows, fmt.Sprintf("(%d, %d)", i, seq))
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "WITH k (list, seq) AS (VALUES " + strings.Join(rows, ", ") + "), m (list, seq) AS (SELECT list, seq " +
		"FROM k UNION ALL SELECT k.list, c.seq FROM k CROSS JOIN runs AS p CROSS JOIN runs AS c WHERE p.seq = k.seq AND " +
		"c.parent_id = p.id) SELECT DISTINCT m.list, h.host FROM m CROSS JOIN run_hosts AS h WHERE h.run_seq = m.seq"
}

func (s *Store) Touched(ctx context.Context, lists [][]int64) ([]int, error) {
	out := make([]int, len(lists))
	q := touched(lists)
	if q == "" {
		return out, nil
	}
	rows, err := db.Query[struct{ List, N int }](ctx, s.d.Read(ctx),
		"SELECT list, count(*) AS n FROM ("+q+") AS t GROUP BY list")
	for _, r := range rows {
		out[r.List] = r.N
	}
	return out, db.Wrap(err, "count the hosts of changes")
}

// TouchedHosts sorts here, since engines sort texts in different ways.
func (s *Store) TouchedHosts(ctx context.Context, list []int64) ([]string, error) {
	q := touched([][]int64{list})
	if q == "" {
		return nil, nil
	}
	out, err := db.Query[string](ctx, s.d.Read(ctx), "SELECT host FROM ("+q+") AS t")
	slices.Sort(out)
	return out, db.Wrap(err, "read the hosts of a change")
}

func (s *Store) Withheld(ctx context.Context, change string, reader access.Scope) (int, error) {
	may, err := s.may(ctx, reader)
	if err != nil {
		return 0, fmt.Errorf("count what is withheld of a change: %w", err)
	}
	if may.text == "" {
		return 0, nil
	}
	all := join(append(ofChange(change), sqlText{"NOT (" + may.text + ")", may.args}), " AND ")
	return db.Count(ctx, s.d.Read(ctx), "SELECT count(*) FROM runs AS r WHERE "+all.text, all.args...)
}
