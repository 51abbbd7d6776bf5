package audit

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/fault"
)

// blank refuses counts without a value, which would otherwise look like absent counts.
func blank(ctx huma.Context, names ...string) []error {
	u := ctx.URL()
	q := u.Query()
	var out []error
	for _, name := range names {
		if q.Has(name) && q.Get(name) == "" {
			out = append(out, fault.BadField(name, "is not a count"))
		}
	}
	return out
}

// instant parses a date or an RFC 3339 instant. A date at the end of a period includes the whole day.
func instant(where, v string, end bool) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, v); err == nil {
		if end {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return time.Time{}, fault.BadField(where, "is neither a date nor an RFC 3339 instant")
	}
	return t.UTC(), nil
}
