package execution

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

var _ execution.WorkerTokenStore = (*Store)(nil)

type workerToken struct {
	bun.BaseModel `bun:"table:worker_tokens,alias:t"`
	workerTokenColumns
	Hash []byte
}

// workerTokenColumns is an execution.WorkerToken with the names of its columns.
type workerTokenColumns struct {
	ID        string `bun:",pk"`
	Name      string
	Queues    []string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time `bun:",nullzero"`
}

func (s *Store) InsertWorkerToken(ctx context.Context, t execution.WorkerToken, hash [32]byte) error {
	q, row := s.d.InUnit(ctx), workerToken{workerTokenColumns: workerTokenColumns(t), Hash: hash[:]}
	_, err := db.Modify(ctx, q.NewDelete().Model((*workerToken)(nil)).
		Where("t.name = ? AND t.expires_at <= ?", t.Name, db.At(t.CreatedAt)))
	if err != nil {
		return db.Wrap(err, "delete an expired worker token")
	}
	n, err := db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Returning("NULL"))
	if err == nil && n == 0 {
		return objects.Naming("name", access.NameTaken.New("the worker %q has a token", t.Name))
	}
	return db.Wrap(err, "store a worker token")
}

func (s *Store) workerToken(ctx context.Context, condition string, value any) (execution.WorkerToken, error) {
	var row workerToken
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).ExcludeColumn("hash").Where(condition, value))
	return execution.WorkerToken(row.workerTokenColumns),
		db.OrMissing(ok, db.Wrap(err, "read a worker token"), noWorkerToken())
}

func noWorkerToken() error { return execution.WorkerTokenNotFound.New("no such worker token") }

func (s *Store) WorkerTokenByHash(ctx context.Context, hash [32]byte) (execution.WorkerToken, error) {
	return s.workerToken(ctx, "t.hash = ?", hash[:])
}

func (s *Store) WorkerTokenByID(ctx context.Context, id string) (execution.WorkerToken, error) {
	return s.workerToken(ctx, "t.id = ?", id)
}

func (s *Store) WorkerTokenByName(ctx context.Context, name string) (execution.WorkerToken, error) {
	return s.workerToken(ctx, "t.name = ?", name)
}

func (s *Store) ListWorkerTokens(ctx context.Context, w page.Window) ([]execution.WorkerToken, int, error) {
	q, rows := s.d.Read(ctx), []workerToken(nil)
	total, err := db.Total(ctx, q.NewSelect().Model((*workerToken)(nil)))
	if err == nil {
		err = q.NewSelect().Model(&rows).ExcludeColumn("hash").OrderExpr("t.created_at, t.id").Apply(db.Window(w)).Scan(ctx)
	}
	if err != nil {
		return nil, 0, db.Wrap(err, "list worker tokens")
	}
	return db.Convert(rows, func(r workerToken) execution.WorkerToken {
		return execution.WorkerToken(r.workerTokenColumns)
	}), total, nil
}

func (s *Store) DeleteWorkerToken(ctx context.Context, id string) error {
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewDelete().Model((*workerToken)(nil)).Where("t.id = ?", id))
	if err == nil && n == 0 {
		return noWorkerToken()
	}
	return db.Wrap(err, "delete a worker token")
}
