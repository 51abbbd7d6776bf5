package goplugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// remoteNotifier is a notifier of a plugin.
type remoteNotifier struct {
	plugin *supervised
	name   string
}

// Notify calls the notifier.
func (n remoteNotifier) Notify(ctx context.Context, run extension.EndedRun) error {
	return n.plugin.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error) {
		return c.Notify(ctx, wire.FromRun(n.name, run))
	})
}

// validateTime bounds the check of a config, which has no context.
const validateTime = 5 * time.Second

// remote is what all secret engines of a plugin have.
type remote struct {
	plugin *supervised
	engine *wire.Engine
}

// newEngine returns an engine with the interfaces that it has in its process.
func newEngine(p *supervised, e *wire.Engine) extension.Engine {
	r := remote{p, e}
	switch {
	case e.GetMints() && e.GetRevokes() && e.GetDescribed():
		return extension.Engine{Minter: describedRevoker{revoker{minter{r}}, described{e}}}
	case e.GetMints() && e.GetRevokes():
		return extension.Engine{Minter: revoker{minter{r}}}
	case e.GetMints() && e.GetDescribed():
		return extension.Engine{Minter: describedMinter{minter{r}, described{e}}}
	case e.GetMints():
		return extension.Engine{Minter: minter{r}}
	case e.GetDescribed():
		return extension.Engine{Resolver: describedResolver{resolver{r}, described{e}}}
	default:
		return extension.Engine{Resolver: resolver{r}}
	}
}

type (
	resolver          struct{ remote }
	minter            struct{ remote }
	revoker           struct{ minter }
	described         struct{ engine *wire.Engine }
	describedResolver struct {
		resolver
		described
	}
	describedMinter struct {
		minter
		described
	}
	describedRevoker struct {
		revoker
		described
	}
)

var (
	_ extension.SecretResolver  = resolver{}
	_ extension.SecretMinter    = minter{}
	_ extension.LeaseRevoker    = revoker{}
	_ extension.ConfigDescriber = described{}
	_ extension.ConfigValidator = remote{}
	_ extension.Notifier        = remoteNotifier{}
)

// ConfigFields returns the members that the engine described.
func (d described) ConfigFields() []extension.ConfigField {
	out := make([]extension.ConfigField, 0, len(d.engine.GetFields()))
	for _, f := range d.engine.GetFields() {
		out = append(out, extension.ConfigField{Name: f.GetName(), Secret: f.GetSecret(), Required: f.GetRequired()})
	}
	return out
}

// request returns the message of a config.
func (r remote) request(config map[string]any) (*wire.SecretRequest, error) {
	text, err := wire.FromConfig(config)
	return &wire.SecretRequest{Engine: r.engine.GetName(), Config: text}, err
}

// ValidateConfig asks the engine, if it checks configs.
func (r remote) ValidateConfig(config map[string]any) error {
	if !r.engine.GetValidates() {
		return nil
	}
	request, err := r.request(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), validateTime)
	defer cancel()
	var v *wire.Verdict
	err = r.plugin.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error) {
		v, err = c.Validate(ctx, request)
		return v, err
	})
	switch {
	case err != nil:
		return err
	case v.GetField() == "" && v.GetMessage() == "":
		return nil
	}
	return &extension.ConfigError{Field: r.plugin.short(v.GetField()), Message: r.plugin.short(v.GetMessage())}
}

// Resolve fetches a value.
func (r resolver) Resolve(ctx context.Context, config map[string]any) (string, error) {
	s, err := r.secret(ctx, config, wire.ExtensionClient.Resolve)
	if err != nil {
		return "", err
	}
	return string(s.GetValue()), nil
}

type secretCall func(
	c wire.ExtensionClient, ctx context.Context, r *wire.SecretRequest, opts ...grpc.CallOption,
) (*wire.Secret, error)

func (r remote) secret(ctx context.Context, config map[string]any, ask secretCall) (s *wire.Secret, err error) {
	request, err := r.request(config)
	if err != nil {
		return nil, err
	}
	err = r.plugin.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error) {
		s, err = ask(c, ctx, request)
		return s, err
	})
	return s, err
}

// Mint makes a secret. Its lease revokes it by the process that minted it, or else by its handle.
func (m minter) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	s, err := m.secret(ctx, config, wire.ExtensionClient.Mint)
	if err != nil {
		return "", nil, err
	}
	from := s.GetLease()
	if from == nil {
		return string(s.GetValue()), nil, nil
	}
	life, err := lifeOf(from.GetLifeMs())
	if err != nil || len(from.GetHandle()) > maxLease || len(from.GetId()) > maxLease {
		return "", nil, fmt.Errorf("plugin %s: %w", m.plugin.name, errLease)
	}
	var revoke func(context.Context) error
	if from.GetRevocable() {
		revoke = func(ctx context.Context) error { return m.end(ctx, config, from.GetId(), from.GetHandle()) }
	}
	lease := extension.NewSecretLease(m.engine.GetName(), revoke).WithHandle(from.GetHandle())
	if life > 0 {
		lease.WithRenewal(life, func(ctx context.Context) (time.Duration, error) { return m.renew(ctx, config, from) })
	}
	return string(s.GetValue()), lease, nil
}

// maxLease bounds the handle and the id of a lease, in bytes.
const maxLease = 64 << 10

var errLease = errors.New("its lease is wrong")

// lifeOf returns the life of a lease, and an error for one that no lease has.
func lifeOf(ms int64) (time.Duration, error) {
	if ms < 0 || ms > int64(math.MaxInt64/time.Millisecond) {
		return 0, errLease
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// end revokes a secret by the id of its lease, if the process still has it, or by its handle.
func (m minter) end(ctx context.Context, config map[string]any, id, handle string) error {
	request, err := m.request(config)
	if err != nil {
		return err
	}
	return m.plugin.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error) {
		return c.Revoke(ctx, &wire.LeaseRequest{Engine: request.GetEngine(), Config: request.GetConfig(), Id: id,
			Handle: handle})
	})
}

func (m minter) renew(ctx context.Context, config map[string]any, l *wire.Lease) (time.Duration, error) {
	request, err := m.request(config)
	if err != nil {
		return 0, err
	}
	var out *wire.Renewed
	err = m.plugin.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error) {
		out, err = c.Renew(ctx, &wire.LeaseRequest{Engine: request.GetEngine(), Config: request.GetConfig(),
			Id: l.GetId(), Handle: l.GetHandle()})
		return out, err
	})
	if err != nil {
		return 0, err
	}
	return lifeOf(out.GetLifeMs())
}

// RevokeLease ends a secret of an earlier process.
func (r revoker) RevokeLease(ctx context.Context, config map[string]any, handle string) error {
	return r.end(ctx, config, "", handle)
}
