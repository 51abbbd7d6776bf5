package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// install is the only row of its table.
type install struct {
	bun.BaseModel `bun:"table:audit_install,alias:i"`
	ID            int64 `bun:",pk"`
	Name          string
}

type publicKey struct {
	bun.BaseModel `bun:"table:audit_keys,alias:k"`
	keyColumns
}

// keyColumns is an audit.PublicKey with the names of its columns.
type keyColumns struct {
	KID         string `bun:"kid,pk"`
	Use         string
	Public      []byte
	Status      string
	NotBefore   time.Time `bun:",nullzero"`
	FirstSize   int64
	LastSize    int64
	TrustedSize int64
	Handover    string
}

type epoch struct {
	bun.BaseModel `bun:"table:audit_epochs,alias:e"`
	epochColumns
}

// epochColumns is an audit.Epoch with the names of its columns.
type epochColumns struct {
	N        int64 `bun:",pk"`
	Origin   string
	FirstSeq int64
	Closed   bool
	LastSize int64
	LastRoot [32]byte
	Reason   string
}

// The row exists before there is an id, so that it can be locked.
func (s *Store) Install(ctx context.Context) (string, error) {
	row := install{ID: 1}
	q := s.d.Read(ctx).NewSelect().Model(&row).WherePK()
	if _, err := s.d.Write(ctx); err == nil {
		q.Apply(s.dialect.Lock)
	}
	ok, err := db.First(ctx, q)
	if err == nil && !ok {
		err = internal("the row of the install is missing")
	}
	return row.Name, db.Wrap(err, "read the id of the install")
}

// An install keeps its id: every second call is a Conflict.
func (s *Store) SetInstall(ctx context.Context, id string) error {
	if id == "" || !text(id) {
		return internal("%q is not the id of an install", id)
	}
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model(&install{ID: 1, Name: id}).WherePK().Where("i.name = ''"))
	if err != nil {
		return fmt.Errorf("name the install: %w", err)
	}
	if n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the install has an id"}
	}
	return nil
}

func (s *Store) Keys(ctx context.Context) ([]audit.PublicKey, error) {
	var rows []publicKey
	if err := s.d.Read(ctx).NewSelect().Model(&rows).OrderExpr("k.pos").Scan(ctx); err != nil {
		return nil, db.Wrap(err, "read the signing keys")
	}
	return db.Convert(rows, func(r publicKey) audit.PublicKey { return audit.PublicKey(r.keyColumns) }), nil
}

// Text that a column cannot store byte for byte is an Internal fault.
func (s *Store) PutKey(ctx context.Context, k audit.PublicKey) error {
	if k.KID == "" || !text(k.KID) || !text(k.Use) || !text(k.Status) || !text(k.Handover) {
		return internal("key %q holds a value that is not text", k.KID)
	}
	if k.Public == nil {
		k.Public = []byte{}
	}
	row := publicKey{keyColumns: keyColumns(k)}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (kid) DO UPDATE").Returning("NULL"))
	return db.Wrap(err, "store signing key %s", k.KID)
}

func (s *Store) Epochs(ctx context.Context) ([]audit.Epoch, error) {
	var rows []epoch
	if err := s.d.Read(ctx).NewSelect().Model(&rows).OrderExpr("e.n").Scan(ctx); err != nil {
		return nil, db.Wrap(err, "read the epochs")
	}
	return db.Convert(rows, func(r epoch) audit.Epoch { return audit.Epoch(r.epochColumns) }), nil
}

// Text that a column cannot store byte for byte is an Internal fault.
func (s *Store) PutEpoch(ctx context.Context, e audit.Epoch) error {
	if !text(e.Origin) || !text(e.Reason) {
		return internal("epoch %d holds a value that is not text", e.N)
	}
	row := epoch{epochColumns: epochColumns(e)}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (n) DO UPDATE"))
	return db.Wrap(err, "store epoch %d", e.N)
}
