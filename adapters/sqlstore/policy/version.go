package policy

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
)

// version counts changes: the row ofRules those of policies and windows, ofWindows those of windows.
type version struct {
	bun.BaseModel `bun:"table:policy_versions"`
	ID            int64 `bun:",pk"`
	Version       int64
}

const (
	ofRules   = 1
	ofWindows = 2
)

// change counts a change in rows, the first of which is ofRules: that excludes other units that write.
func change(ctx context.Context, d *db.DB, rows ...int64) error {
	for _, id := range rows {
		n, err := db.Modify(ctx, d.InUnit(ctx).NewUpdate().Model(&version{ID: id}).Set("version = version + 1").WherePK())
		if err == nil && n != 1 {
			err = noRow()
		}
		if err != nil {
			return db.Wrap(err, "count a change of policies or windows")
		}
	}
	return nil
}

func versionOf(ctx context.Context, d *db.DB, id int64) (int64, error) {
	row := version{ID: id}
	ok, err := db.First(ctx, d.Read(ctx).NewSelect().Model(&row).WherePK())
	if err == nil && !ok {
		err = noRow()
	}
	return row.Version, db.Wrap(err, "read the version of policies or windows")
}

func noRow() error {
	return &fault.Error{Kind: fault.Internal, Message: "the version of policies or windows has no row"}
}
