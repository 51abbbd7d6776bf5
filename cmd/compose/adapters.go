package compose

import (
	"errors"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/argon2"
	"github.com/writ-automation/writ/adapters/casbin"
	"github.com/writ-automation/writ/adapters/outbox"
	"github.com/writ-automation/writ/adapters/sqlstore"
	"github.com/writ-automation/writ/adapters/watermill"
)

// The engines that --db chooses between.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// The buses that --events chooses between.
const (
	Memory = "memory"
	NATS   = "nats"
)

// storeOf names the engine of a database address.
func storeOf(db string) string {
	if strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://") {
		return Postgres
	}
	return SQLite
}

// stores selects the store adapters. Both engines share one adapter; the database distinguishes them.
func stores() map[string]fx.Option {
	return map[string]fx.Option{SQLite: sqlstore.Module, Postgres: sqlstore.Module}
}

// busChoices maps the scheme of --events to the bus for domain events.
func busChoices(address string) map[string]fx.Option {
	return map[string]fx.Option{
		Memory: fx.Options(fx.Supply(watermill.Config{}), watermill.Module),
		NATS:   fx.Options(fx.Supply(watermill.Config{URL: address}), watermill.Module),
	}
}

// busOf names the bus of an address.
func busOf(events string) (string, error) {
	switch {
	case events == "" || events == Memory:
		return Memory, nil
	case strings.HasPrefix(events, "nats://"), strings.HasPrefix(events, "tls://"):
		return NATS, nil
	default:
		return "", errors.New("events: expected memory or a nats:// address")
	}
}

// chosen returns the adapters that the settings select, without those of every process.
func (s *Settings) chosen() (store, bus fx.Option, err error) {
	name, err := busOf(s.Events)
	if err != nil {
		return nil, nil, err
	}
	return stores()[storeOf(s.DB)], busChoices(s.Events)[name], nil
}

// authorizer provides the authorizer.
func authorizer(strict bool) fx.Option {
	return fx.Options(fx.Supply(casbin.Config{Strict: strict}), casbin.Module)
}

// passwords provides the hashing of passwords.
func passwords() fx.Option { return argon2.Module }

// relay carries events from the transaction to the bus.
func relay() fx.Option { return outbox.Module }
