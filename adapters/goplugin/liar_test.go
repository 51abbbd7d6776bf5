package goplugin

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	hashicorp "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// raw serves answers that package plugin does not make.
type raw struct {
	hashicorp.NetRPCUnsupportedPlugin
	server wire.ExtensionServer
}

func (r raw) GRPCServer(_ *hashicorp.GRPCBroker, to *grpc.Server) error {
	wire.RegisterExtensionServer(to, r.server)
	return nil
}

func (raw) GRPCClient(context.Context, *hashicorp.GRPCBroker, *grpc.ClientConn) (any, error) { panic("no client") }

func serveRaw(s wire.ExtensionServer) {
	hashicorp.Serve(&hashicorp.ServeConfig{
		HandshakeConfig: hashicorp.HandshakeConfig{ProtocolVersion: wire.Version, MagicCookieKey: wire.ModeVar,
			MagicCookieValue: wire.Serves},
		Plugins: hashicorp.PluginSet{wire.Name: raw{server: s}}, GRPCServer: hashicorp.DefaultGRPCServer,
	})
}

// lender has an engine whose leases are wrong, as the account of the config says.
type lender struct{ wire.UnimplementedExtensionServer }

func (lender) Describe(context.Context, *wire.DescribeRequest) (*wire.Description, error) {
	return &wire.Description{Engines: []*wire.Engine{{Name: "loan", Mints: true}}}, nil
}

func (lender) Mint(_ context.Context, r *wire.SecretRequest) (*wire.Secret, error) {
	config, err := wire.ToConfig(r.GetConfig())
	if err != nil {
		return nil, err
	}
	return &wire.Secret{Value: []byte("c4nary"), Lease: map[any]*wire.Lease{
		"negative": {LifeMs: -1}, "endless": {LifeMs: math.MaxInt64},
		"handle": {Handle: strings.Repeat("x", maxLease+1)}, "id": {Id: strings.Repeat("x", maxLease+1)},
		"fine": {LifeMs: 1, Handle: strings.Repeat("x", maxLease)},
	}[config["account"]]}, nil
}

func (lender) Renew(context.Context, *wire.LeaseRequest) (*wire.Renewed, error) { return &wire.Renewed{LifeMs: -1}, nil }

// TestWrongLeases checks that a lease beyond its bounds is an error, of the mint and of a renewal.
// Keeps T09.
func TestWrongLeases(t *testing.T) {
	t.Parallel()
	h, _, _ := started(t, quick(), "lender")
	loan := h.Engines()["loan"].Minter
	for _, account := range []string{"negative", "endless", "handle", "id"} {
		value, lease, err := loan.Mint(t.Context(), map[string]any{"account": account})
		if err == nil || !strings.Contains(err.Error(), "its lease is wrong") || value != "" || lease != nil {
			t.Errorf("%s: %q, %v", account, value, err)
		}
	}
	value, lease, err := loan.Mint(t.Context(), map[string]any{"account": "fine"})
	if err != nil || value != "c4nary" || lease.Life() != time.Millisecond {
		t.Fatalf("%q, %v", value, err)
	}
	if life, err := lease.Renew(t.Context()); err == nil || life != 0 {
		t.Errorf("renewed for %s, %v", life, err)
	}
}
