package identity

import (
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/signin"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// defaultSessionTTL is how long a session lasts where nothing else is set.
const defaultSessionTTL = 12 * time.Hour

// RoleRule says which role somebody has whom an outside provider vouches for: the highest of Groups that they are in,
// else Default. An empty Default refuses who is in no mapped group.
type RoleRule = signin.RoleRule

// Config of the context.
type Config struct {
	// Open makes every caller the admin account. The surfaces must then answer loopback callers alone.
	Open bool
	// SessionTTL is how long a session lasts after signing in; zero is twelve hours.
	SessionTTL time.Duration
	// Rules say who may sign in by a protocol. Where there is none, only who has an account may sign in that way.
	Rules map[identity.Protocol]RoleRule
	// ReadOnly keeps signing in from making accounts and changing roles. Sessions are made as ever.
	ReadOnly bool
}

// Validate returns an Invalid fault that names the first setting that makes no sense.
func (c Config) Validate() error {
	if c.SessionTTL < 0 {
		return fault.BadField("session-ttl", "must not be negative")
	}
	for protocol, rule := range c.Rules {
		if !protocol.Valid() {
			return fault.BadField("rules", "%q is no protocol", protocol)
		}
		via := string(protocol)
		if rule.Default != "" && !rule.Default.Valid() {
			return fault.BadField(via+"-default-role", "%q is no role", rule.Default)
		}
		for group, role := range rule.Groups {
			if !role.Valid() {
				return fault.BadField(via+"-role-map", "%q, which the group %q maps to, is no role", role, group)
			}
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.SessionTTL == 0 {
		c.SessionTTL = defaultSessionTTL
	}
	return c
}
