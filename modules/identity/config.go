package identity

import (
	"cmp"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/signin"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const defaultSessionTTL = 12 * time.Hour

// RoleRule gives the users of an outside provider their role: the highest role of their Groups, else Default. An empty
// Default refuses users in no mapped group.
type RoleRule = signin.RoleRule

// Config of the context.
type Config struct {
	// Open makes every caller the admin account. The server must then accept loopback callers only.
	Open bool
	// SessionTTL is the lifetime of a session; zero is twelve hours.
	SessionTTL time.Duration
	// Rules define who may sign in by a protocol. Without a rule only users with an account may.
	Rules map[identity.Protocol]RoleRule
	// ReadOnly makes sign-ins create no accounts and change no roles. They still create sessions.
	ReadOnly bool
	// AdminPassword is the password of the first account; empty: it has none.
	AdminPassword identity.Password
}

// CheckPassword returns an Invalid fault for a password that no account may have.
func CheckPassword(p identity.Password) error { return account.CheckPassword("password", p) }

// Validate returns an Invalid fault for the first invalid setting.
func (c Config) Validate() error {
	if c.SessionTTL < 0 {
		return fault.BadField("session-ttl", "must not be negative")
	}
	for protocol, rule := range c.Rules {
		if !protocol.Valid() {
			return fault.BadField("rules", "unknown protocol %q", protocol)
		}
		via := string(protocol)
		if rule.Default != "" && !rule.Default.Valid() {
			return fault.BadField(via+"-default-role", "unknown role %q", rule.Default)
		}
		for group, role := range rule.Groups {
			if !role.Valid() {
				return fault.BadField(via+"-role-map", "the group %q maps to the unknown role %q", group, role)
			}
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.SessionTTL = cmp.Or(c.SessionTTL, defaultSessionTTL)
	return c
}
