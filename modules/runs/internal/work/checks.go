package work

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// plain refuses host names that would be read as something else on a command line.
func plain(hosts []string) error {
	for i, h := range hosts {
		if h == "" || strings.HasPrefix(h, "-") || strings.ContainsAny(h, "\x00\r\n") {
			return fault.BadField(fmt.Sprintf("hosts[%d]", i), "is not a host name")
		}
	}
	return nil
}

func withWarning(list []runs.Warning, w runs.Warning) []runs.Warning {
	if hasWarning(list, w.Code) {
		return list
	}
	return append(slices.Clone(list), w)
}

func hasWarning(list []runs.Warning, code string) bool {
	return slices.ContainsFunc(list, func(w runs.Warning) bool { return w.Code == code })
}

func truncated(omitted int64) runs.Warning {
	return runs.Warning{Code: runs.WarnLogTruncated, Message: fmt.Sprintf("%d bytes of the output were not kept", omitted)}
}
