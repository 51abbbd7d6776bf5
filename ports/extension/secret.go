package extension

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// SecretResolver is a secret engine: it fetches the value that a source's config names, when a run needs it. The value
// is a text, or the text of a JSON object if the engine stores several members together. Its errors contain no secret.
// It must be safe for concurrent use, and returns within the time of ctx.
type SecretResolver interface {
	Resolve(ctx context.Context, config map[string]any) (string, error)
}

// SecretResolverFunc adapts a function to SecretResolver.
type SecretResolverFunc func(ctx context.Context, config map[string]any) (string, error)

// Resolve calls f.
func (f SecretResolverFunc) Resolve(ctx context.Context, config map[string]any) (string, error) {
	return f(ctx, config)
}

// SecretMinter is a dynamic secret engine: its values are made for one run, and the lease revokes them when the run
// has ended. A secret with a nil lease cannot be revoked.
type SecretMinter interface {
	Mint(ctx context.Context, config map[string]any) (string, *SecretLease, error)
}

// LeaseRevoker is a SecretMinter that revokes secrets of another process by the handle of their lease. Without it,
// minted secrets expire on the engine's own TTL if the process that minted them died. Revoking a missing secret is no
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

// ConfigDescriber is an engine that describes its config. Other members are then refused. For an engine without it
// every member is accepted, and every one is a secret.
type ConfigDescriber interface {
	ConfigFields() []ConfigField
}

// ConfigError names the invalid member of a config. The message continues after the member's name and contains no
// value.
type ConfigError struct{ Field, Message string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Message }

// ConfigValidator is an engine that validates a config when it is saved, without network calls. It returns a
// *ConfigError.
type ConfigValidator interface {
	ValidateConfig(config map[string]any) error
}

// SecretLease describes a minted secret.
type SecretLease struct {
	engine string
	handle string
	revoke func(ctx context.Context) error
	life   time.Duration
	renew  func(ctx context.Context) (time.Duration, error)

	mu   sync.Mutex
	done bool
}

// NewSecretLease returns a lease with the engine's name and its revoke function. With a nil function the secret only
// expires on the engine's own TTL.
func NewSecretLease(engine string, revoke func(ctx context.Context) error) *SecretLease {
	return &SecretLease{engine: engine, revoke: revoke}
}

// WithHandle adds the name by which the engine's LeaseRevoker finds the lease, and returns the lease. The handle is
// stored sealed.
func (l *SecretLease) WithHandle(handle string) *SecretLease {
	l.handle = handle
	return l
}

// WithRenewal adds the lifetime of the secret and the function that extends it, and returns the lease. renew returns
// the remaining lifetime after the extension. It is called periodically while the run lasts.
func (l *SecretLease) WithRenewal(
	life time.Duration, renew func(ctx context.Context) (time.Duration, error),
) *SecretLease {
	l.life, l.renew = life, renew
	return l
}

// Life returns the lifetime of the secret from its creation if it can be renewed, and otherwise 0.
func (l *SecretLease) Life() time.Duration {
	if l == nil || l.renew == nil {
		return 0
	}
	return max(l.life, 0)
}

// Renew extends the life of a secret whose Life is not 0, and returns its remaining lifetime.
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

// BuiltinEngines returns the reserved names of secret engines.
func BuiltinEngines() []string {
	return []string{"vault", "vault_dynamic", "aws_secretsmanager", "gcp_secretmanager", "azure_keyvault", "env", "file"}
}

// Engine is a secret engine of either kind: exactly one member is set.
type Engine struct {
	Resolver SecretResolver
	Minter   SecretMinter
}

// SecretEngines is the process-wide registry that RegisterSecretResolver and RegisterSecretMinter fill: both share one
// namespace.
var SecretEngines = NewRegistry[Engine]("secret engine", BuiltinEngines()...)

// RegisterSecretResolver adds a secret engine under name. It panics as Registry.Register does.
func RegisterSecretResolver(name string, r SecretResolver) {
	SecretEngines.Register(name, Engine{Resolver: r})
}

// RegisterSecretMinter adds a dynamic secret engine under name. It panics as Registry.Register does.
func RegisterSecretMinter(name string, m SecretMinter) {
	SecretEngines.Register(name, Engine{Minter: m})
}
