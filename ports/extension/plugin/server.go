package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// served registers the service at the server of go-plugin.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	extension Extension
}

// GRPCServer registers the service.
func (s *served) GRPCServer(_ *goplugin.GRPCBroker, to *grpc.Server) error {
	wire.RegisterExtensionServer(to, &server{extension: s.extension, leases: newLeases()})
	return nil
}

// GRPCClient is for hosts, which use the service directly.
func (s *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("plugin: this is the side of the plugin")
}

// survive turns a panic of one call into its error.
func survive(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, panicked(info.FullMethod, p)
		}
	}()
	return handle(ctx, request)
}

func surviveStream(
	s any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(info.FullMethod, p)
		}
	}()
	return handle(s, stream)
}

func panicked(method string, p any) error {
	fmt.Fprintf(os.Stderr, "panic in %s: %v\n%s", method, p, debug.Stack())
	return status.Error(codes.Internal, "the plugin panicked")
}

// server answers the calls of the host.
type server struct {
	wire.UnimplementedExtensionServer
	extension Extension
	leases    *leases
	providers providers
}

// Describe returns what the plugin provides.
func (s *server) Describe(context.Context, *wire.DescribeRequest) (*wire.Description, error) {
	return s.extension.describe(), nil
}

// Notify calls a notifier.
func (s *server) Notify(ctx context.Context, m *wire.EndedRun) (*wire.Done, error) {
	n, ok := s.extension.Notifiers[m.GetNotifier()]
	if !ok {
		return nil, unknown("notifier", m.GetNotifier())
	}
	if err := n.Notify(ctx, wire.ToRun(m)); err != nil {
		return nil, failed(ctx, err)
	}
	return &wire.Done{}, nil
}

// Resolve calls a resolver.
func (s *server) Resolve(ctx context.Context, m *wire.SecretRequest) (*wire.Secret, error) {
	r, ok := s.extension.SecretResolvers[m.GetEngine()]
	if !ok {
		return nil, unknown("secret engine", m.GetEngine())
	}
	config, err := wire.ToConfig(m.GetConfig())
	if err != nil {
		return nil, failed(ctx, err)
	}
	value, err := r.Resolve(ctx, config)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return &wire.Secret{Value: []byte(value)}, nil
}

// Mint calls a minter, and keeps the lease until it is revoked.
func (s *server) Mint(ctx context.Context, m *wire.SecretRequest) (*wire.Secret, error) {
	minter, ok := s.extension.SecretMinters[m.GetEngine()]
	if !ok {
		return nil, unknown("secret engine", m.GetEngine())
	}
	config, err := wire.ToConfig(m.GetConfig())
	if err != nil {
		return nil, failed(ctx, err)
	}
	value, lease, err := minter.Mint(ctx, config)
	if err != nil {
		return nil, failed(ctx, err)
	}
	if ctx.Err() != nil { // nobody receives the secret
		revokeLate(ctx, lease)
		return nil, failed(ctx, ctx.Err())
	}
	return &wire.Secret{Value: []byte(value), Lease: s.leases.keep(lease)}, nil
}

// Revoke ends a secret by the lease of this process, or else by its handle.
func (s *server) Revoke(ctx context.Context, m *wire.LeaseRequest) (*wire.Done, error) {
	if lease := s.leases.find(m.GetId()); lease != nil {
		if err := lease.Revoke(ctx); err != nil {
			return nil, failed(ctx, err)
		}
		s.leases.forget(m.GetId())
		return &wire.Done{}, nil
	}
	r, ok := s.extension.SecretMinters[m.GetEngine()].(extension.LeaseRevoker)
	if !ok || m.GetHandle() == "" {
		return nil, status.Error(codes.NotFound, "the process that minted the secret has ended")
	}
	config, err := wire.ToConfig(m.GetConfig())
	if err == nil {
		err = r.RevokeLease(ctx, config, m.GetHandle())
	}
	if err != nil {
		return nil, failed(ctx, err)
	}
	return &wire.Done{}, nil
}

// Renew extends the life of a secret of this process.
func (s *server) Renew(ctx context.Context, m *wire.LeaseRequest) (*wire.Renewed, error) {
	lease := s.leases.find(m.GetId())
	if lease == nil || lease.Life() == 0 {
		return nil, status.Error(codes.NotFound, "the process that minted the secret has ended")
	}
	life, err := lease.Renew(ctx)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return &wire.Renewed{LifeMs: life.Milliseconds()}, nil
}

// Validate checks a config.
func (s *server) Validate(ctx context.Context, m *wire.SecretRequest) (*wire.Verdict, error) {
	v := s.validator(m.GetEngine())
	if v == nil {
		return &wire.Verdict{}, nil
	}
	config, err := wire.ToConfig(m.GetConfig())
	if err != nil {
		return nil, failed(ctx, err)
	}
	err = v.ValidateConfig(config)
	var bad *extension.ConfigError
	switch {
	case err == nil:
		return &wire.Verdict{}, nil
	case errors.As(err, &bad):
		return &wire.Verdict{Field: bad.Field, Message: bad.Message}, nil
	default:
		return nil, failed(ctx, err)
	}
}

func (s *server) validator(engine string) extension.ConfigValidator {
	if v, ok := s.extension.SecretResolvers[engine].(extension.ConfigValidator); ok {
		return v
	}
	v, _ := s.extension.SecretMinters[engine].(extension.ConfigValidator)
	return v
}

func unknown(kind, name string) error {
	return status.Errorf(codes.NotFound, "the plugin has no %s %q", kind, name)
}

// failed returns the error of a call as a status. The text is the extension's own.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unknown, wire.Short(err.Error()))
}
