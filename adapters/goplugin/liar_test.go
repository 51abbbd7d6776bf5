package goplugin

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hashicorp "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/waittest"
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

func (raw) GRPCClient(context.Context, *hashicorp.GRPCBroker, *grpc.ClientConn) (any, error) {
	panic("no client")
}

func serveRaw(s wire.ExtensionServer) {
	hashicorp.Serve(&hashicorp.ServeConfig{
		HandshakeConfig: hashicorp.HandshakeConfig{ProtocolVersion: wire.Version, MagicCookieKey: wire.ModeVar,
			MagicCookieValue: wire.Serves},
		Plugins: hashicorp.PluginSet{wire.Name: raw{server: s}}, GRPCServer: hashicorp.DefaultGRPCServer,
	})
}

// lender has an engine whose leases are wrong, as the account of the config says.
type lender struct {
	wire.UnimplementedExtensionServer
}

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

func (lender) Renew(context.Context, *wire.LeaseRequest) (*wire.Renewed, error) {
	return &wire.Renewed{LifeMs: -1}, nil
}

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

// changes describes another version in each process.
type changes struct {
	wire.UnimplementedExtensionServer
	dir string
}

func (c changes) Describe(context.Context, *wire.DescribeRequest) (*wire.Description, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, ".started-changes"))
	return &wire.Description{Notifiers: []string{"a"}, Version: fmt.Sprint(len(strings.Fields(string(text))))}, err
}

// TestAnotherDescription checks that a process which describes itself in another way than the first one is not used.
// Keeps T09.
func TestAnotherDescription(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.restarts = 2
	h, dir, _ := started(t, bounds, "changes")
	killAll(t, dir, "changes")
	waittest.Eventually(t, time.Minute, "it is given up", func() bool {
		return h.status("changes").State == system.ExtensionFailed
	})
	if e := h.status("changes"); !strings.Contains(e.Error, "in another way than at the start") || e.Version != "1" {
		t.Errorf("%+v", e)
	}
	for _, pid := range words(t, filepath.Join(dir, ".started-changes")) {
		if exists("/proc/" + pid) {
			t.Errorf("the process %s goes on", pid)
		}
	}
	if err := h.Notifiers()["a"].Notify(t.Context(), extension.EndedRun{}); !fits(err, "it does not run") {
		t.Error(err)
	}
}

// TestDescriptions checks what no plugin may describe.
// Keeps T09.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	names := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("n", i))
		}
		return out
	}
	engines := func(names ...string) (out []*wire.Engine) {
		for _, name := range names {
			out = append(out, &wire.Engine{Name: name, Mints: len(out)%2 == 1})
		}
		return out
	}
	fields := func(names ...string) []*wire.Engine {
		e := engines("a")
		for _, name := range names {
			e[0].Fields = append(e[0].Fields, &wire.Field{Name: name})
		}
		return e
	}
	unknown := &wire.Description{Tools: names(1)}
	unknown.ProtoReflect().SetUnknown([]byte{0x78, 1}) // the member 15
	for _, c := range []struct {
		d    *wire.Description
		want string
	}{
		{&wire.Description{Tools: names(64), Notifiers: names(64), Engines: engines(names(64)...), Providers: names(64)}, ""},
		{&wire.Description{}, "provides nothing"},
		{&wire.Description{Tools: names(65)}, "more than 64"},
		{&wire.Description{Notifiers: names(65)}, "more than 64"},
		{&wire.Description{Engines: engines(names(65)...)}, "more than 64"},
		{&wire.Description{Providers: names(65)}, "more than 64"},
		{&wire.Description{Tools: []string{"a", "a"}}, `not the only one: "a"`},
		{&wire.Description{Notifiers: []string{""}}, "a name that is wrong"},
		{&wire.Description{Providers: []string{"a b"}}, "a name that is wrong"},
		{&wire.Description{Tools: []string{strings.Repeat("a", wire.MaxName+1)}}, "a name that is wrong"},
		{&wire.Description{Engines: engines("a", "a")}, `not the only one: "a"`}, // a resolver and a minter
		{&wire.Description{Engines: fields(names(65)...)}, "more than 64 members"},
		{&wire.Description{Engines: fields("x", "x")}, "wrong or repeated name"},
		{&wire.Description{Engines: fields("x\n")}, "wrong or repeated name"},
		{&wire.Description{Tools: names(1), Version: strings.Repeat("1", maxVersion+1)}, "version"},
		{&wire.Description{Tools: names(1), Version: "1\n2"}, "version"},
		{unknown, "unknown members"},
	} {
		if err := checked(c.d); !fits(err, c.want) {
			t.Errorf("%.200s: %v, want %q", c.d, err, c.want)
		}
	}
}
