package compose

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/goplugin"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/system"
)

// pluginsDir has the sockets and homes of plugins, in the data directory.
const pluginsDir = "plugins"

// newPlugins starts the plugins, which end after everything that calls them. Registration of compiled-in extensions
// ends here, since a plugin may use none of their names.
func newPlugins(
	life fx.Lifecycle, x *Executor, d *dataDir, b *boundary.Boundary, log *slog.Logger,
) (*goplugin.Host, error) {
	c := goplugin.Config{
		Dir: x.PluginsDir, State: d.path(pluginsDir), Boundary: b, Log: log, Env: x.PluginEnv,
		Taken: goplugin.Names{
			Tools:     append(extension.BuiltinTools(), sorted(extension.Tools.Freeze())...),
			Notifiers: append(extension.NotificationKinds(), sorted(extension.Notifiers.Freeze())...),
			Engines:   append(extension.BuiltinEngines(), sorted(extension.SecretEngines.Freeze())...),
			Providers: append(extension.BuiltinAIProviders(), sorted(extension.AIProviders.Freeze())...),
		},
	}
	if c.Dir != "" {
		d.note(pluginsDir)
		if err := os.MkdirAll(c.State, 0o711); err != nil { //nolint:gosec // the accounts of plugins pass it
			return nil, err
		}
		if b.Status().Level == boundary.Users {
			if err := d.letPass(); err != nil {
				return nil, err
			}
		}
	}
	h, err := goplugin.Open(context.Background(), c)
	if err != nil {
		return nil, err
	}
	d.ends = append(d.ends, h.Close) // no hook runs if the assembly fails
	life.Append(fx.StopHook(h.Close))
	return h, nil
}

func sorted[T any](entries map[string]T) []string { return slices.Sorted(maps.Keys(entries)) }

// allExtensions lists the plugins and what is compiled in.
type allExtensions struct {
	plugins *goplugin.Host
	version string
}

func newExtensions(h *goplugin.Host, s *Settings) system.Extensions {
	return &allExtensions{plugins: h, version: s.Info.Version}
}

// Extensions returns all extensions, sorted by name.
func (a *allExtensions) Extensions(ctx context.Context) []system.Extension {
	kinds := map[string][]system.ExtensionKind{}
	for _, k := range []struct {
		kind  system.ExtensionKind
		names []string
	}{
		{system.ToolExtension, sorted(extension.Tools.Freeze())},
		{system.NotifierExtension, sorted(extension.Notifiers.Freeze())},
		{system.EngineExtension, sorted(extension.SecretEngines.Freeze())},
		{system.ProviderExtension, sorted(extension.AIProviders.Freeze())},
	} {
		for _, name := range k.names {
			kinds[name] = append(kinds[name], k.kind)
		}
	}
	out := a.plugins.Extensions(ctx)
	for _, name := range sorted(kinds) {
		out = append(out, system.Extension{Name: name, Kinds: kinds[name], Version: a.version,
			State: system.ExtensionCompiled})
	}
	slices.SortStableFunc(out, func(x, y system.Extension) int { return strings.Compare(x.Name, y.Name) })
	return out
}
