package system

import "context"

// ExtensionState is how an extension is.
type ExtensionState string

// The states of extensions. One that is compiled into the binary has no process of its own.
const (
	ExtensionCompiled   ExtensionState = "compiled_in"
	ExtensionRunning    ExtensionState = "running"
	ExtensionRestarting ExtensionState = "restarting"
	ExtensionFailed     ExtensionState = "failed"
)

// ExtensionKind is a seam that an extension provides something for.
type ExtensionKind string

// The kinds of extensions.
const (
	ToolExtension     ExtensionKind = "tool"
	NotifierExtension ExtensionKind = "notifier"
	EngineExtension   ExtensionKind = "secret_engine"
	ProviderExtension ExtensionKind = "ai_provider"
)

// Extension is a plugin, or an extension that is compiled into the binary.
type Extension struct {
	Name string
	// Kinds is empty for a plugin that never described itself.
	Kinds   []ExtensionKind
	Version string
	State   ExtensionState
	// Restarts is how often its process was started again.
	Restarts int
	// Error says why it does not run, empty if it does.
	Error string
}

// Extensions lists what a server has.
type Extensions interface {
	// Extensions returns all extensions, sorted by name.
	Extensions(ctx context.Context) []Extension
}
