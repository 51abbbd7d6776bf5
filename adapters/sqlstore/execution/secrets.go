package execution

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

var _ execution.ClaimSecretStore = (*Store)(nil)

type relaySecrets struct {
	bun.BaseModel `bun:"table:relay_secrets,alias:s"`
	RunID         string `bun:",pk"`
	Epoch         int64
	Sealed        []byte
	Tail          []byte
}

// SealedStores returns the table with sealed texts: the secrets of claims.
func (s *Store) SealedStores() []secrets.SealedStore {
	return []secrets.SealedStore{&objects.Sealed{
		D: s.d, What: "secrets of relay claims", Table: "relay_secrets", Key: "run_id", Version: "epoch",
		Record: execution.SecretsRecord,
	}}
}

func (s *Store) PutSecrets(ctx context.Context, l runs.Lease, sealed []byte) error {
	row := relaySecrets{RunID: l.RunID, Epoch: l.Epoch, Sealed: sealed}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (run_id) DO UPDATE").
		Where("s.epoch <= ?", l.Epoch)) // a slow claim does not replace a newer one's
	return db.Wrap(err, "store the secrets of a claim of run %s", l.RunID)
}

func (s *Store) SecretsOf(ctx context.Context, l runs.Lease) ([]byte, error) {
	row, err := s.secretsOf(ctx, l, "sealed")
	return row.Sealed, err
}

func (s *Store) TailOf(ctx context.Context, l runs.Lease) ([]byte, error) {
	row, err := s.secretsOf(ctx, l, "tail")
	return row.Tail, err
}

func (s *Store) secretsOf(ctx context.Context, l runs.Lease, column string) (relaySecrets, error) {
	var row relaySecrets
	_, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Column(column).
		Where("s.run_id = ? AND s.epoch = ?", l.RunID, l.Epoch))
	return row, db.Wrap(err, "read the secrets of a claim of run %s", l.RunID)
}

func (s *Store) PutTail(ctx context.Context, l runs.Lease, sealed []byte) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model((*relaySecrets)(nil)).Set("tail = ?", sealed).
		Where("s.run_id = ? AND s.epoch = ?", l.RunID, l.Epoch))
	return db.Wrap(err, "store the end of the output of run %s", l.RunID)
}

func (s *Store) DropSecrets(ctx context.Context, l runs.Lease) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewDelete().Model((*relaySecrets)(nil)).
		Where("s.run_id = ? AND s.epoch = ?", l.RunID, l.Epoch))
	return db.Wrap(err, "delete the secrets of a claim of run %s", l.RunID)
}

func (s *Store) ForgetSecrets(ctx context.Context) error {
	q := s.d.InUnit(ctx)
	held := q.NewSelect().TableExpr("runs AS r").ColumnExpr("1").
		Where("r.id = s.run_id AND r.epoch = s.epoch AND r.status = ?", runs.Running)
	_, err := db.Modify(ctx, q.NewDelete().Model((*relaySecrets)(nil)).Where("NOT EXISTS (?)", held))
	return db.Wrap(err, "delete the secrets of claims that are over")
}
