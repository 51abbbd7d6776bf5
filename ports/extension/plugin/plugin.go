package plugin

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// Extension is what a plugin provides, by name. Names have letters, digits, dots, underscores and hyphens, and begin
// with a letter or a digit. Resolvers and minters share one set of names. Names of built-in extensions and of other
// plugins keep Writ from starting.
type Extension struct {
	Tools           map[string]extension.ToolRunner
	Notifiers       map[string]extension.Notifier
	AIProviders     map[string]extension.AIProviderFactory
	SecretResolvers map[string]extension.SecretResolver
	SecretMinters   map[string]extension.SecretMinter
}

// Serve is the whole main function of a plugin: it serves the extension until Writ ends the process, and does not
// return. It panics for a wrong or repeated name and for a nil entry.
func Serve(e Extension) {
	e.check()
	mode := os.Getenv(wire.ModeVar)
	if mode == wire.RunsTool {
		os.Exit(runTool(e))
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Error, Output: os.Stderr})
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.Version, MagicCookieKey: wire.ModeVar, MagicCookieValue: wire.Serves,
		},
		Plugins: goplugin.PluginSet{wire.Name: &served{extension: e}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(wire.MaxRequest), grpc.UnaryInterceptor(survive),
				grpc.StreamInterceptor(surviveStream))...)
		},
		Logger: log,
	})
}

// check panics for an extension that cannot be served.
func (e Extension) check() {
	named("tool", e.Tools)
	named("notifier", e.Notifiers)
	named("AI provider", e.AIProviders)
	named("secret engine", e.SecretResolvers)
	named("secret engine", e.SecretMinters)
	for name, factory := range e.AIProviders {
		if factory == nil {
			panic(fmt.Sprintf("plugin: the AI provider %q is nil", name))
		}
	}
	for name := range e.SecretMinters {
		if _, twice := e.SecretResolvers[name]; twice {
			panic(fmt.Sprintf("plugin: the secret engine %q is a resolver and a minter", name))
		}
	}
}

func named[T any](kind string, entries map[string]T) {
	for name, entry := range entries {
		switch {
		case !wire.ValidName(name):
			panic(fmt.Sprintf("plugin: %q is no name of a %s", name, kind))
		case any(entry) == nil:
			panic(fmt.Sprintf("plugin: the %s %q is nil", kind, name))
		}
	}
}

// describe returns what the plugin provides.
func (e Extension) describe() *wire.Description {
	d := &wire.Description{
		Version: version(),
		Tools:   slices.Sorted(maps.Keys(e.Tools)), Notifiers: slices.Sorted(maps.Keys(e.Notifiers)),
		Providers: slices.Sorted(maps.Keys(e.AIProviders)),
	}
	for _, name := range slices.Sorted(maps.Keys(e.SecretResolvers)) {
		d.Engines = append(d.Engines, describeEngine(name, e.SecretResolvers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(e.SecretMinters)) {
		m := describeEngine(name, e.SecretMinters[name])
		m.Mints = true
		_, m.Revokes = e.SecretMinters[name].(extension.LeaseRevoker)
		d.Engines = append(d.Engines, m)
	}
	return d
}

func describeEngine(name string, engine any) *wire.Engine {
	out := &wire.Engine{Name: name}
	_, out.Validates = engine.(extension.ConfigValidator)
	d, ok := engine.(extension.ConfigDescriber)
	if !ok {
		return out
	}
	out.Described = true
	for _, f := range d.ConfigFields() {
		out.Fields = append(out.Fields, &wire.Field{Name: f.Name, Secret: f.Secret, Required: f.Required})
	}
	return out
}

// version returns the version of the plugin's module.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}
