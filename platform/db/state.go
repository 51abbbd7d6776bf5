package db

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"time"
)

// Schema returns the version of the newest migration that was applied to the database and that of the newest one in
// migrations. It changes nothing and does not wait for a migration. A schema that cannot be read or does not exist is
// an Unavailable fault.
func (d *DB) Schema(ctx context.Context, migrations fs.FS) (applied, newest int64, err error) {
	files, err := fs.Sub(migrations, string(d.engine))
	if err != nil {
		return 0, 0, fmt.Errorf("migrations for %s: %w", d.engine, err)
	}
	if newest, err = newestMigration(files); err != nil {
		return 0, 0, err
	}
	if err := d.Probe(ctx); err != nil {
		return 0, 0, err
	}
	var version sql.NullInt64
	err = d.reads.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable+" WHERE is_applied").Scan(&version)
	if err != nil {
		return 0, 0, Translate(fmt.Errorf("read the schema's version: %w", err))
	}
	return version.Int64, newest, nil
}

// Clock returns the time of day on the clock that all writers of this database share: the server's on Postgres, this
// machine's on SQLite.
func (d *DB) Clock(ctx context.Context) (time.Time, error) {
	var now Time
	if err := d.reads.NewSelect().ColumnExpr("? AS now", d.Dialect().WallNow()).Scan(ctx, &now); err != nil {
		return time.Time{}, Translate(err)
	}
	return now.Time, nil
}
