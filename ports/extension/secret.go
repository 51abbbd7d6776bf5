package extension

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// SecretResolver is a secret engine: it fetches the value that a source's config names, when a run needs it. The
// value is a text, or the text of a JSON object where the engine keeps several members together. Its errors hold no
// secret. It is called from many goroutines, within the time of ctx.
type SecretResolver interface {
	Resolve(ctx context.Context, config map[string]any) (string, error)
}

// SecretResolverFunc adapts a function to SecretResolver.
type SecretResolverFunc func(ctx context.Context, config map[string]any) (string, error)

// Resolve calls f.
func (f SecretResolverFunc) Resolve(ctx context.Context, config map[string]any) (string, error) {
	return f(ctx, config)
}

// SecretMinter is a dynamic secret engine: what it returns was made for this one run, and the lease says how it is
// revoked when the run has ended. A nil lease is one that nobody can revoke.
type SecretMinter interface {
	Mint(ctx context.Context, config map[string]any) (string, *SecretLease, error)
}

// LeaseRevoker is a SecretMinter that revokes by the handle of a lease what another process minted. Minted secrets of
// engines without it end on the engine's own TTL where the process that minted them died. Revoking what is gone is no
// error.
type LeaseRevoker interface {
	RevokeLease(ctx context.Context, config map[string]any, handle string) error
}

// ConfigField is a member of the config of an engine.
type ConfigField struct {
	Name     string
	Secret   bool // sealed when it is stored, and never shown
	Required bool
}

// ConfigDescriber is an engine that says what its config holds. Other members are refused then. Of an engine that
// does not say it every member is taken, and every one is a secret.
type ConfigDescriber interface {
	ConfigFields() []ConfigField
}

// ConfigError says which member of a config is wrong. The message goes on from the member's name and holds no value.
type ConfigError struct{ Field, Message string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Message }

// ConfigValidator is an engine that judges a config when it is saved, without asking anybody. It returns a
// *ConfigError.
type ConfigValidator interface {
	ValidateConfig(config map[string]any) error
}

// SecretLease is what is known of a minted secret.
type SecretLease struct {
	engine string
	handle string
	revoke func(ctx context.Context) error
	life   time.Duration
	renew  func(ctx context.Context) (time.Duration, error)

	mu   sync.Mutex
	done bool
}

// NewSecretLease names the engine and how to revoke what it minted. With a nil function the secret only expires on
// the engine's own TTL.
func NewSecretLease(engine string, revoke func(ctx context.Context) error) *SecretLease {
	return &SecretLease{engine: engine, revoke: revoke}
}

// WithHandle adds the name by which the engine's LeaseRevoker finds the lease, and returns the lease. It is kept
// sealed.
func (l *SecretLease) WithHandle(handle string) *SecretLease {
	l.handle = handle
	return l
}

// WithRenewal adds how long the secret lives and how its life is extended, and returns the lease. renew returns for how
// long the secret lives from then on. It is called from time to time as long as the run lasts.
func (l *SecretLease) WithRenewal(life time.Duration, renew func(ctx context.Context) (time.Duration, error)) *SecretLease {
	l.life, l.renew = life, renew
	return l
}

// Life returns how long the secret lives from when it was minted, where it can be renewed, and otherwise 0.
func (l *SecretLease) Life() time.Duration {
	if l == nil || l.renew == nil {
		return 0
	}
	return max(l.life, 0)
}

// Renew extends the life of a secret whose Life is not 0, and returns for how long it lives from now on.
func (l *SecretLease) Renew(ctx context.Context) (time.Duration, error) {
	return l.renew(ctx)
}

// Engine returns the engine's name.
func (l *SecretLease) Engine() string { return l.engine }

// Handle returns the name of the lease, empty for none.
func (l *SecretLease) Handle() string { return l.handle }

// Revocable reports whether Revoke does anything.
func (l *SecretLease) Revocable() bool { return l != nil && l.revoke != nil }

// Revoke ends the minted secret, once: after a success it does nothing more. After an error it may be called again.
func (l *SecretLease) Revoke(ctx context.Context) error {
	if !l.Revocable() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	if err := l.revoke(ctx); err != nil {
		return fmt.Errorf("revoke what %s minted: %w", l.engine, err)
	}
	l.done = true
	return nil
}

// BuiltinEngines are the names of secret engines that no extension may take.
func BuiltinEngines() []string {
	return []string{"vault", "vault_dynamic", "aws_secretsmanager", "gcp_secretmanager", "azure_keyvault", "env", "file"}
}

// Engine is a secret engine of either sort: exactly one member is set.
type Engine struct {
	Resolver SecretResolver
	Minter   SecretMinter
}

// SecretEngines is the process-wide registry that RegisterSecretResolver and RegisterSecretMinter fill: both share
// one space of names.
var SecretEngines = NewRegistry[Engine]("secret engine", BuiltinEngines()...)

// RegisterSecretResolver adds a secret engine under name. It panics as Registry.Register does.
func RegisterSecretResolver(name string, r SecretResolver) {
	SecretEngines.Register(name, Engine{Resolver: r})
}

// RegisterSecretMinter adds a dynamic secret engine under name. It panics as Registry.Register does.
func RegisterSecretMinter(name string, m SecretMinter) {
	SecretEngines.Register(name, Engine{Minter: m})
}
