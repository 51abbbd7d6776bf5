package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/writ-automation/writ/ports/fault"
)

const (
	versionTable = "goose_db_version"
	floorTable   = "schema_floor"
)

// Migrate brings the schema to the newest version in migrations; the package documentation describes their form. If
// several processes start together, one migrates and the others wait. A schema that is newer than the newest
// migration stays unchanged, unless it requires a newer binary: that is a SchemaTooNew fault. A migration that fails
// leaves the schema of the previous one.
func (d *DB) Migrate(ctx context.Context, migrations fs.FS) error {
	files, err := fs.Sub(migrations, string(d.engine))
	if err != nil {
		return fmt.Errorf("migrations for %s: %w", d.engine, err)
	}
	newest, err := newestMigration(files)
	if err != nil {
		return err
	}
	pool, release, err := d.migrationLock(ctx)
	if err != nil {
		return Translate(err)
	}
	err = d.migrate(ctx, pool, files, newest)
	return errors.Join(Translate(err), release())
}

func newestMigration(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		n, err := goose.NumericComponent(path.Base(name))
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", name, err)
		}
		newest = max(newest, n)
	}
	if newest == 0 {
		return 0, &fault.Error{Kind: fault.Internal, Message: "there are no migrations for this engine"}
	}
	return newest, nil
}

func (d *DB) migrate(ctx context.Context, pool *sql.DB, files fs.FS, newest int64) error {
	current, floor, err := d.schemaVersion(ctx, pool)
	if err != nil {
		return err
	}
	if current > newest {
		if floor > newest {
			return SchemaTooNew.New("the database has schema %d and needs a binary that knows at least schema %d, this one "+
				"knows %d: use a newer binary",
				current, floor, newest)
		}
		d.log.Warn("the database is newer than this binary", "schema", current, "known", newest)
		return nil
	}
	dialect := goose.DialectSQLite3
	if d.engine == Postgres {
		dialect = goose.DialectPostgres
	}
	provider, err := goose.NewProvider(dialect, pool, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	took := time.Duration(0)
	for _, m := range applied {
		took += m.Duration
		d.log.Debug("migrated a step", "schema", m.Source.Version, "duration_ms", m.Duration.Milliseconds())
	}
	if len(applied) > 0 {
		d.log.Info("migrated", "from", current, "schema", newest, "duration_ms", took.Milliseconds())
	}
	return nil
}

// schemaVersion creates the table of the floor if it is missing, and reads the version of the schema and the oldest
// binary that it accepts.
func (d *DB) schemaVersion(ctx context.Context, pool *sql.DB) (current, floor int64, err error) {
	for _, query := range []string{
		"CREATE TABLE IF NOT EXISTS " + floorTable + " (id INTEGER PRIMARY KEY CHECK (id = 1), min_binary BIGINT NOT NULL)",
		"INSERT INTO " + floorTable + " (id, min_binary) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
	} {
		if _, err := pool.ExecContext(ctx, query); err != nil {
			return 0, 0, fmt.Errorf("read the schema's floor: %w", err)
		}
	}
	if err := pool.QueryRowContext(ctx, "SELECT min_binary FROM "+floorTable).Scan(&floor); err != nil {
		return 0, 0, fmt.Errorf("read the schema's floor: %w", err)
	}
	exists, err := d.hasVersions(ctx, pool)
	if err != nil || !exists {
		return 0, floor, err
	}
	var newest sql.NullInt64
	err = pool.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable+" WHERE is_applied").Scan(&newest)
	if err != nil {
		return 0, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return newest.Int64, floor, nil
}
