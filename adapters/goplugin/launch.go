package goplugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// session is a running process with the connection to it.
type session struct {
	*process
	conn   *grpc.ClientConn
	client wire.ExtensionClient
}

// launch starts a plugin and connects to it. The process has ended if that fails.
func (p *supervised) launch() (_ *session, err error) {
	var started *process
	defer func() {
		if err != nil && started != nil {
			err = errors.Join(err, started.stop())
		}
	}()
	config := &goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Version, MagicCookieKey: wire.ModeVar, MagicCookieValue: wire.Serves,
		},
		Plugins:          goplugin.PluginSet{wire.Name: nil},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			var err error
			if started, err = newProcess(p.path, cmd, dir, p.host.Boundary, p.host.Env[p.name]); err != nil {
				return nil, errors.Join(err, program.Remove(dir))
			}
			return started, nil
		},
		AutoMTLS: true, SkipHostEnv: true, StartTimeout: p.host.pace.start, Logger: hclog.NewNullLogger(),
		Stderr: &output{lines: p.lines}, UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.host.State},
	}
	if _, err := goplugin.NewClient(config).Start(); err != nil {
		return nil, errors.New(p.short(err.Error()))
	}
	if config.TLSConfig.RootCAs == nil {
		return nil, errors.New("it does not encrypt its connection")
	}
	s := &session{process: started}
	s.conn, err = grpc.NewClient("passthrough:///plugin",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return started.connect(ctx)
		}),
		grpc.WithTransportCredentials(credentials.NewTLS(config.TLSConfig)), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxAnswer), grpc.MaxCallSendMsgSize(wire.MaxRequest)),
		grpc.WithMaxHeaderListSize(maxHeaders),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to it: %w", err)
	}
	s.client = wire.NewExtensionClient(s.conn)
	go p.lines.follow(s)
	return s, nil
}

// maxHeaders bounds the headers of an answer, with its error.
const maxHeaders = 64 << 10

// close ends the process.
func (s *session) close() error {
	s.kill()
	return errors.Join(s.conn.Close(), s.stop())
}

// describe asks a session what the plugin provides, and checks the answer.
func (p *supervised) describe(ctx context.Context, s *session) (*wire.Description, error) {
	bound, cancel := context.WithTimeout(ctx, p.host.pace.describe)
	defer cancel()
	d, err := s.client.Describe(bound, &wire.DescribeRequest{})
	if err != nil {
		return nil, fmt.Errorf("it does not describe itself: %w", p.fault(err))
	}
	if err := checked(d); err != nil {
		return nil, errors.New(p.short(err.Error()))
	}
	return d, nil
}

// Bounds of a description.
const (
	maxNames   = 64
	maxFields  = 64
	maxVersion = 100
)

// checked returns an error for a description that no plugin may have.
func checked(d *wire.Description) error {
	if err := wire.Strict(d); err != nil {
		return err
	}
	if len(d.GetTools()) > maxNames || len(d.GetNotifiers()) > maxNames || len(d.GetEngines()) > maxNames ||
		len(d.GetProviders()) > maxNames {
		return fmt.Errorf("it provides more than %d extensions of a kind", maxNames)
	}
	if len(d.GetVersion()) > maxVersion || wire.Short(d.GetVersion()) != d.GetVersion() {
		return errors.New("its version is no short line")
	}
	engines := make([]string, 0, len(d.GetEngines()))
	for _, e := range d.GetEngines() {
		engines = append(engines, e.GetName())
		if err := checkedFields(e); err != nil {
			return err
		}
	}
	for _, names := range [][]string{d.GetTools(), d.GetNotifiers(), engines, d.GetProviders()} {
		seen := map[string]bool{}
		for _, name := range names {
			if !wire.ValidName(name) || seen[name] {
				return fmt.Errorf("it provides a name that is wrong or not the only one: %q", wire.Short(name))
			}
			seen[name] = true
		}
	}
	if len(d.GetTools())+len(d.GetNotifiers())+len(engines)+len(d.GetProviders()) == 0 {
		return errors.New("it provides nothing")
	}
	return nil
}

func checkedFields(e *wire.Engine) error {
	if len(e.GetFields()) > maxFields {
		return fmt.Errorf("the config of its secret engine %q has more than %d members", e.GetName(), maxFields)
	}
	seen := map[string]bool{}
	for _, f := range e.GetFields() {
		if !wire.ValidName(f.GetName()) || seen[f.GetName()] {
			return fmt.Errorf("the config of its secret engine %q has a member with a wrong or repeated name", e.GetName())
		}
		seen[f.GetName()] = true
	}
	return nil
}
