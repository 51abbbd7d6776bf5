package check

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// These bounds apply to requests.
const (
	maxSetting = 1000      // characters of public text
	MaxSecret  = 64 << 10  // bytes of a secret member
	MaxSecrets = 512 << 10 // bytes of the sealed part of a credential
	maxVars    = 200       // variables of a credential
	shortest   = 4         // bytes of a secret that is masked
)

var (
	envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	// fileName is a plain name that a placeholder of a template can contain.
	fileName   = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
)

// Identifier reports whether s can name a field or a variable: letters, digits and underscores, and no digit first.
func Identifier(s string) bool { return identifier.MatchString(s) }

// FileName reports whether s is a plain file name: not hidden, and within its directory.
func FileName(s string) bool { return fileName.MatchString(s) }

// EnvName refuses names that no credential may set in the environment of a run: invalid names; variables of the
// executor; and the few variables by which a secret would decide what code runs in the programs that the executor
// itself starts. PATH and the variables of the loader take effect in every program. Others, such as PYTHONPATH or
// BASH_ENV, only affect the run itself and are settings that tools need.
func EnvName(at, name string) error {
	switch {
	case !envName.MatchString(name):
		return fault.BadField(at, "is not the name of an environment variable")
	case strings.HasPrefix(name, "WRIT_"):
		return fault.BadField(at, "is set by the executor")
	}
	switch name {
	case "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT":
		return fault.BadField(at, "decides which code runs and is set by no credential")
	default:
		return nil
	}
}

// Text requires a secret to be text on one line. The fault contains nothing of it.
func Text(at, s string) error {
	if strings.ContainsAny(s, "\r\n") {
		return fault.BadField(at, "has to be on one line")
	}
	return Multiline(at, s)
}

// Multiline refuses a secret that is not text.
func Multiline(at, s string) error {
	switch {
	case len(s) > MaxSecret:
		return fault.BadField(at, "is longer than %d bytes", MaxSecret)
	case !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0:
		return fault.BadField(at, "has to be text in UTF-8 without NUL")
	default:
		return nil
	}
}

// Short reports whether a secret is too short to be masked in output. An empty secret is not.
func Short(s string) bool { return s != "" && len(s) < shortest }
