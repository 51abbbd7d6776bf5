package httpapi

import (
	"errors"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/page"
)

// Count is a count in a query: digits only. A number beyond any integer is a very large count and not an error, since a
// count over its maximum is replaced by the maximum.
type Count struct {
	N   int64
	Set bool
}

func (c *Count) UnmarshalText(text []byte) error {
	for _, b := range text {
		if b < '0' || b > '9' {
			return errors.New("is not a count")
		}
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		n = math.MaxInt64
	case err != nil:
		return errors.New("is not a count")
	}
	c.N, c.Set = n, true
	return nil
}

func (Count) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: countFormat}
}

// Switch is a switch of a query: on for 1 and true, off for 0 and false and if it is absent.
type Switch string

// On returns the value of the switch.
func (s Switch) On() bool { return s == "1" || s == "true" }

func (Switch) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: []any{"0", "1", "false", "true"}}
}

// Clamp returns the count as a page size: fallback if it is absent or zero, maximum if it is larger.
func (c Count) Clamp(fallback, maximum int) int {
	return page.Clamp(c.Int(), fallback, maximum)
}

// Window selects the part of a configuration list that a query returns. Embed it in the input.
type Window struct {
	Offset Count `query:"offset" doc:"The number of rows to skip."`
	Limit  Count `query:"limit" doc:"At most 1000, which is also the default; a larger number means 1000."`
}

// Page returns the window within its bounds.
func (w Window) Page() page.Window {
	return page.Window{Offset: w.Offset.Int(), Limit: w.Limit.Clamp(page.MaxRows, page.MaxRows)}
}

// Listed holds the members of a configuration list other than its rows. Embed it in the body.
type Listed struct {
	Count int `json:"count" doc:"The number of rows in this answer."`
	Total int `json:"total" doc:"The number of rows in all."`
	Limit int `json:"limit" doc:"The limit that was used."`
}

// Rows makes the rows of an answer's list, never null.
func Rows[T, R any](items []T, row func(T) R) []R {
	rows := make([]R, 0, len(items))
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return rows
}

// Int returns the count, as large as an int gets.
func (c Count) Int() int { return int(min(c.N, math.MaxInt32)) }
