package crontime

import (
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

var zoneName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_+/-]{0,63}$`)

// Zone returns the zone of an IANA name that the server accepts for a schedule. It refuses abbreviations that are no
// such name, offsets, and names that mean something else on each machine.
func Zone(name string) (*time.Location, error) {
	if zoneName.MatchString(name) && !ofMachine(name) {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%s is no known time zone", quote(name))
}

func ofMachine(name string) bool {
	switch strings.ToLower(name) {
	case "local", "localtime", "posixrules", "factory":
		return true
	}
	return strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "SystemV/")
}
