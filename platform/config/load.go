package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// EnvPrefix begins the name of every environment variable that sets a flag.
const EnvPrefix = "WRIT_"

// Sources names the sources of settings other than the command line.
type Sources struct {
	// File is a YAML file whose keys are flag names; empty for none.
	File string
	// Sections are keys of the file that have names with settings below them.
	Sections map[string]*Section
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Reserved are environment names that begin with the prefix and are no flags.
	Reserved []string
	// NotInFile are flags that a file cannot set, such as the one that names it.
	NotInFile []string
	// Warn receives environment variables that resemble a setting but match none; nil ignores them.
	Warn func(message string)
}

// EnvName returns the environment variable that sets a flag: run-timeout is WRIT_RUN_TIMEOUT.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// keyDelim cannot occur in a flag's name: the keys are flat.
const keyDelim = "\x00"

// Load sets every flag of fs that the command line does not set, from the environment, else from the file. An
// environment variable that is set and empty counts as absent. Errors name the key with its file and line, or the
// variable; none contains the value, which may be a secret.
func Load(fs *pflag.FlagSet, s Sources) error {
	file, err := readFile(s.File, s.Sections, func(key string) bool {
		return fs.Lookup(key) != nil && !slices.Contains(s.NotInFile, key)
	})
	if err != nil {
		return err
	}
	k := koanf.New(keyDelim)
	if err := k.Load(file, nil); err != nil {
		return fmt.Errorf("read %s: %w", s.File, err)
	}
	fromEnv := make(map[string]bool)
	if err := k.Load(environment(fs, s, fromEnv), nil); err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || !k.Exists(f.Name) {
			return
		}
		if err := set(f, k.Get(f.Name)); err != nil {
			origin := file.origin(f.Name)
			if fromEnv[f.Name] {
				origin = EnvName(f.Name)
			}
			errs = append(errs, fmt.Errorf("%s: %w", origin, err))
		}
	})
	return errors.Join(errs...)
}

// environment is the provider of the variables that set flags; it notes in found which those are.
func environment(fs *pflag.FlagSet, s Sources, found map[string]bool) koanf.Provider {
	flags := make(map[string]string)
	fs.VisitAll(func(f *pflag.Flag) { flags[EnvName(f.Name)] = f.Name })
	return env.Provider("", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return s.Environ },
		TransformFunc: func(name, value string) (string, any) {
			flag, known := flags[name]
			if !known && !slices.Contains(s.Reserved, name) && s.Warn != nil {
				s.Warn(fmt.Sprintf("the environment variable %s sets nothing", name))
			}
			if !known || value == "" {
				return "", nil
			}
			found[flag] = true
			return flag, value
		},
	})
}

// set gives a flag its value without marking it as set on the command line.
func set(f *pflag.Flag, value any) error {
	list, isList := f.Value.(pflag.SliceValue)
	switch v := value.(type) {
	case []string:
		if !isList {
			return fmt.Errorf("%s: expected one value, not a list", f.Name)
		}
		return hideValue(f, list.Replace(v))
	case string:
		if isList {
			return hideValue(f, list.Replace(splitList(v)))
		}
		return hideValue(f, f.Value.Set(v))
	default:
		return fmt.Errorf("%s: a value of type %T is not allowed", f.Name, value)
	}
}

// hideValue keeps the explanations of this package's own types and replaces those that quote the value.
func hideValue(f *pflag.Flag, err error) error {
	var mine *valueError
	if err == nil || errors.As(err, &mine) {
		return err
	}
	return fmt.Errorf("%s is not a valid %s", f.Name, f.Value.Type())
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
