package extension

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Registry holds the extensions of one kind by name until it is frozen.
type Registry[T any] struct {
	mu       sync.Mutex
	kind     string
	reserved map[string]bool
	entries  map[string]T
	frozen   bool
}

// NewRegistry makes a registry with reserved names.
func NewRegistry[T any](kind string, reserved ...string) *Registry[T] {
	r := &Registry[T]{kind: kind, reserved: make(map[string]bool), entries: make(map[string]T)}
	for _, n := range reserved {
		r.reserved[n] = true
	}
	return r
}

// Register adds an entry. It panics on an empty, reserved or duplicate name and once the registry is frozen.
func (r *Registry[T]) Register(name string, entry T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch _, taken := r.entries[name]; {
	case name == "":
		panic(fmt.Sprintf("extension: a %s needs a name", r.kind))
	case r.reserved[name]:
		panic(fmt.Sprintf("extension: the %s name %q is reserved", r.kind, name))
	case taken:
		panic(fmt.Sprintf("extension: the %s %q is registered twice", r.kind, name))
	case r.frozen:
		panic(fmt.Sprintf("extension: the %s %q was registered after the server started", r.kind, name))
	}
	r.entries[name] = entry
}

// Freeze ends registration and returns a copy of the entries.
func (r *Registry[T]) Freeze() map[string]T {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
	return maps.Clone(r.entries)
}

// BuiltinTools returns the reserved names of tools.
func BuiltinTools() []string { return []string{"ansible", "bash", "python", "powershell", "go"} }

// Script reports whether a tool executes a command on the executor and reaches no host of an inventory itself. Tools of
// extensions may reach hosts.
func Script(tool string) bool { return tool != "ansible" && slices.Contains(BuiltinTools(), tool) }

// Tools is the process-wide registry that RegisterTool fills from init functions, before anything is wired.
var Tools = NewRegistry[ToolRunner]("tool", BuiltinTools()...)

// RegisterTool adds a tool under name. It panics as Registry.Register does.
func RegisterTool(name string, runner ToolRunner) { Tools.Register(name, runner) }
