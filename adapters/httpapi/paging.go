package httpapi

import (
	"errors"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/page"
)

// Count is a count in a query: digits alone. One that no integer holds is a very large count, not a bad one, since
// counts over their maximum are answered with the maximum.
type Count struct {
	N   int64
	Set bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Count) UnmarshalText(text []byte) error {
	for _, b := range text {
		if b < '0' || b > '9' {
			return errors.New("is no count")
		}
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		n = math.MaxInt64
	case err != nil:
		return errors.New("is no count")
	}
	c.N, c.Set = n, true
	return nil
}

// Schema implements huma.SchemaProvider.
func (Count) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: countFormat}
}

// Clamp returns the count as a page size: fallback where it is absent or zero, maximum where it is over that.
func (c Count) Clamp(fallback, maximum int) int {
	return page.Clamp(c.Int(), fallback, maximum)
}

// Int returns the count, as large as an int gets.
func (c Count) Int() int { return int(min(c.N, math.MaxInt32)) }
