package wire

import "github.com/writ-automation/writ/ports/extension"

// The environment variable that a plugin is started with, and its values.
const (
	ModeVar = "WRIT_PLUGIN"
	// Serves starts the supervised process, which serves Extension.
	Serves = "serve"
	// RunsTool starts a process that runs one tool.
	RunsTool = "tool"
)

// Version is that of the protocol. Name is the one service of a plugin in the handshake of go-plugin.
const (
	Version = 1
	Name    = "extension"
)

// The descriptors of a process that runs one tool.
const (
	CallFD = 3
	EndFD  = 4
)

// Bounds of messages, in bytes.
const (
	MaxRequest = 16 << 20
	MaxAnswer  = 2 << 20
	MaxCall    = 64 << 20
	MaxEnd     = extension.PlanSize + 1<<20
)

// MaxName is the largest length of a name.
const MaxName = 63

// ValidName reports whether a plugin may use a name: letters, digits, dots, underscores and hyphens, first a letter or
// a digit.
func ValidName(name string) bool {
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case i > 0 && (r == '.' || r == '_' || r == '-'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}
