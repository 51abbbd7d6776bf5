package work

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// plain refuses host names that a command line would read as something else.
func plain(hosts []string) error {
	for i, h := range hosts {
		if h == "" || strings.HasPrefix(h, "-") || strings.ContainsAny(h, "\x00\r\n") {
			return fault.BadField(fmt.Sprintf("hosts[%d]", i), "is not a host name")
		}
	}
	return nil
}

func withWarning(list []runs.Warning, w runs.Warning) []runs.Warning {
	if runs.HasWarning(list, w.Code) {
		return list
	}
	return append(slices.Clone(list), w)
}

// without returns the warnings that have another code.
func without(list []runs.Warning, code string) []runs.Warning {
	return slices.DeleteFunc(slices.Clone(list), func(w runs.Warning) bool { return w.Code == code })
}
