package goplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

// Config says which plugins are started.
type Config struct {
	// Dir is the directory with the plugins. Empty is none.
	Dir string
	// State is a directory for the sockets and homes of the processes, an absolute path that their accounts can pass. It
	// has nothing else, and only one process uses it at a time.
	State string
	// Boundary has the boxes of the processes; nil keeps nothing apart.
	Boundary *boundary.Boundary
	Log      *slog.Logger
	// Env has variables and their values by the names of the plugins' files. Only the supervised process of the plugin
	// gets them.
	Env map[string]map[string]secret.Text
	// Taken are the extensions that exist already.
	Taken Names
}

// Names are names of extensions.
type Names struct{ Tools, Notifiers, Engines, Providers []string }

// Host supervises the plugins of one server or worker.
type Host struct {
	Config
	pace    pace
	plugins []*supervised
	end     context.CancelFunc
	all     sync.WaitGroup
}

// Open starts all plugins of the directory at once, asks what they provide, and supervises them until Close. Before
// that it ends the processes that a killed process left, and removes their files. It logs those that do not start or
// describe themselves, and goes on without them. A directory that others may change, a name that exists twice and
// variables of a plugin that is not there are errors.
func Open(ctx context.Context, c Config) (*Host, error) { return open(ctx, c, defaultPace()) }

func open(ctx context.Context, c Config, bounds pace) (*Host, error) {
	h := &Host{Config: c, pace: bounds, end: func() {}}
	if err := h.clear(); err != nil {
		return nil, err
	}
	if c.Dir == "" {
		return h, nil
	}
	list, err := discover(c.Dir)
	if err != nil {
		return nil, err
	}
	for name := range c.Env {
		if !slices.ContainsFunc(list, func(f found) bool { return f.name == name }) {
			return nil, fmt.Errorf("plugin-env: %s has no plugin %q", c.Dir, name)
		}
	}
	var starts sync.WaitGroup
	for _, f := range list {
		p := newSupervised(h, f)
		h.plugins = append(h.plugins, p)
		starts.Go(func() { p.first(ctx) })
	}
	starts.Wait()
	var living context.Context
	living, h.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, p := range h.plugins {
		if p.session == nil {
			c.Log.WarnContext(ctx, "a plugin is skipped", "plugin", p.name, "path", p.path, "error", p.failure)
			continue
		}
		c.Log.InfoContext(ctx, "a plugin runs", "plugin", p.name, "version", p.description.GetVersion(),
			"kinds", p.kinds())
		h.all.Go(func() { p.supervise(living) })
	}
	if err := h.collide(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// clear ends the processes that have a home in the state directory, and empties it.
func (h *Host) clear() error {
	left, err := os.ReadDir(h.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	program.EndLeftovers(h.State)
	for _, e := range left {
		err = errors.Join(err, program.Remove(filepath.Join(h.State, e.Name())))
	}
	if err != nil {
		return fmt.Errorf("clear the directory of plugins: %w", err)
	}
	return nil
}

// Close ends all plugins, and what they have started without a boundary.
func (h *Host) Close() {
	h.end()
	h.all.Wait()
	if len(h.plugins) > 0 {
		program.EndLeftovers(h.State)
	}
}

// collide returns an error that names an extension that exists twice.
func (h *Host) collide() error {
	owners := map[string]string{}
	take := func(kind, name, owner string) error {
		other, taken := owners[kind+" "+name]
		if taken {
			return fmt.Errorf("plugins-dir: the plugin %s provides the %s %q, which %s: remove the plugin or rename it there",
				owner, kind, name, other)
		}
		owners[kind+" "+name] = "the plugin " + owner + " provides too"
		return nil
	}
	for kind, names := range map[string][]string{tool: h.Taken.Tools, notifier: h.Taken.Notifiers,
		engine: h.Taken.Engines, provider: h.Taken.Providers} {
		for _, name := range names {
			owners[kind+" "+name] = "is a part of writ"
		}
	}
	for _, p := range h.plugins {
		for _, kind := range []string{tool, notifier, engine, provider} {
			for _, name := range p.names(kind) {
				if err := take(kind, name, p.name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The kinds of extensions.
const (
	tool     = "tool"
	notifier = "notifier"
	engine   = "secret engine"
	provider = "AI provider"
)

// names returns what a plugin provides of a kind.
func (p *supervised) names(kind string) []string {
	switch kind {
	case tool:
		return p.description.GetTools()
	case notifier:
		return p.description.GetNotifiers()
	case provider:
		return p.description.GetProviders()
	default:
		var out []string
		for _, e := range p.description.GetEngines() {
			out = append(out, e.GetName())
		}
		return out
	}
}

// kinds returns the seams for which a plugin provides something.
func (p *supervised) kinds() []system.ExtensionKind {
	out := []system.ExtensionKind{}
	for _, k := range []struct {
		kind  string
		shown system.ExtensionKind
	}{{tool, system.ToolExtension}, {notifier, system.NotifierExtension}, {engine, system.EngineExtension},
		{provider, system.ProviderExtension}} {
		if len(p.names(k.kind)) > 0 {
			out = append(out, k.shown)
		}
	}
	return out
}

// Notifiers returns the notifiers of all plugins by name.
func (h *Host) Notifiers() map[string]extension.Notifier {
	out := map[string]extension.Notifier{}
	for _, p := range h.plugins {
		for _, name := range p.names(notifier) {
			out[name] = remoteNotifier{p, name}
		}
	}
	return out
}

// AIProviders returns the factories of the AI providers of the plugins.
func (h *Host) AIProviders() map[string]extension.AIProviderFactory {
	out := map[string]extension.AIProviderFactory{}
	for _, p := range h.plugins {
		for _, name := range p.names(provider) {
			out[name] = newProvider(p, name)
		}
	}
	return out
}

// Engines returns the secret engines of all plugins by name.
func (h *Host) Engines() map[string]extension.Engine {
	out := map[string]extension.Engine{}
	for _, p := range h.plugins {
		for _, e := range p.description.GetEngines() {
			out[e.GetName()] = newEngine(p, e)
		}
	}
	return out
}

// Tool is a tool of a plugin: each call starts the executable.
type Tool struct{ Plugin, Path string }

// Tools returns the tools of all plugins by name.
func (h *Host) Tools() map[string]Tool {
	out := map[string]Tool{}
	for _, p := range h.plugins {
		for _, name := range p.names(tool) {
			out[name] = Tool{Plugin: p.name, Path: p.path}
		}
	}
	return out
}

var _ system.Extensions = (*Host)(nil)

// Extensions describes all plugins, those that were skipped too.
func (h *Host) Extensions(context.Context) []system.Extension {
	out := make([]system.Extension, 0, len(h.plugins))
	for _, p := range h.plugins {
		p.mu.Lock()
		e := system.Extension{Name: p.name, Kinds: p.kinds(), Version: p.description.GetVersion(), State: p.state,
			Restarts: p.restarts}
		if p.failure != nil {
			e.Error = p.failure.Error()
		}
		p.mu.Unlock()
		out = append(out, e)
	}
	return out
}
