package notify

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
)

type target struct {
	bun.BaseModel `bun:"table:notify_targets,alias:t"`
	Ref           string `bun:",pk"`
	Digest        string
	Sealed        []byte
	CreatedAt     time.Time
}

// SaveTarget waits for another unit that stores an equal target.
func (s *Store) SaveTarget(ctx context.Context, ref, digest string, sealed []byte) (string, error) {
	row := target{}
	err := s.d.Do(ctx, func(ctx context.Context) error {
		q := s.d.InUnit(ctx)
		ok, err := db.First(ctx, q.NewSelect().Model(&row).Column("ref").Where("t.digest = ?", digest))
		if err != nil || ok {
			return err
		}
		row = target{Ref: ref, Digest: digest, Sealed: sealed}
		_, err = db.Modify(ctx, q.NewInsert().Model(&row).Value("created_at", "?", s.dialect.WallNow()).
			On("CONFLICT (digest) DO UPDATE").Set("digest = EXCLUDED.digest").Returning("ref"))
		return err
	})
	return row.Ref, db.Wrap(err, "store a target")
}

func (s *Store) SealedTarget(ctx context.Context, ref string) ([]byte, error) {
	var row target
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Column("sealed").Where("t.ref = ?", ref))
	return row.Sealed, db.OrMissing(ok, db.Wrap(err, "read a target"),
		notify.TargetNotFound.New("no notification target %q", ref))
}

// SealedStores returns the tables with sealed texts: the targets.
func (s *Store) SealedStores() []secrets.SealedStore {
	return []secrets.SealedStore{&objects.Sealed{
		D: s.d, What: "notification targets", Table: "notify_targets", Key: "ref",
		Record: func(ref string, _ int64) string { return notify.TargetRecord(ref) },
	}}
}
