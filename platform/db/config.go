package db

import (
	"cmp"
	"log/slog"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Engine names a database engine.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// Config selects a database and how to open it. Zero members take their defaults.
type Config struct {
	// URL is a postgres:// URL, or the path of an SQLite file.
	URL string
	// Log receives messages of background work. The default discards them.
	Log *slog.Logger
	// MaxConns bounds the connections that read (16 on Postgres, 8 on SQLite). One more writes.
	MaxConns int
	// UnitTimeout bounds the time that one unit of work may take (10 s).
	UnitTimeout time.Duration
	// CommitTimeout bounds the wait for the answer to a COMMIT on Postgres (10 s). Past it the outcome is unknown.
	CommitTimeout time.Duration
	// MaxGroup bounds how many units share a commit (256 on SQLite, 64 on Postgres, which is slow with more savepoints).
	MaxGroup int
	// MaxGroupTime is how long a group takes further units before it commits (20 ms).
	MaxGroupTime time.Duration
	// BusyTimeout is how long SQLite waits for another process that writes (5 s).
	BusyTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.MaxConns <= 0 {
		c.MaxConns = 16
		if c.engine() == SQLite {
			c.MaxConns = 8
		}
	}
	c.UnitTimeout = orElse(c.UnitTimeout, 10*time.Second)
	c.CommitTimeout = orElse(c.CommitTimeout, 10*time.Second)
	c.MaxGroupTime = orElse(c.MaxGroupTime, 20*time.Millisecond)
	c.BusyTimeout = orElse(c.BusyTimeout, 5*time.Second)
	if c.MaxGroup <= 0 {
		c.MaxGroup = 256
		if c.engine() == Postgres {
			c.MaxGroup = 64
		}
	}
	return c
}

func orElse(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

func (c Config) engine() Engine {
	if strings.HasPrefix(c.URL, "postgres://") || strings.HasPrefix(c.URL, "postgresql://") {
		return Postgres
	}
	return SQLite
}

func (c Config) check() error {
	if c.URL == "" {
		return &fault.Error{Kind: fault.Invalid, Message: "the database is not named: give a path or a postgres:// URL"}
	}
	if c.engine() == SQLite && (strings.Contains(c.URL, ":memory:") || strings.Contains(c.URL, "://")) {
		return &fault.Error{Kind: fault.Invalid, Message: "the database is neither the path of a file nor a postgres:// URL"}
	}
	return nil
}
