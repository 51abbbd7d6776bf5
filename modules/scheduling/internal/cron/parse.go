package cron

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
)

const order = "minute, hour, day of month, month and day of week"

func bad(format string, args ...any) error { return fault.BadField("cron", format, args...) }

// parse parses the expression into e.
func (e *Expr) parse(expr string) error {
	if len(expr) > MaxLength {
		return bad("the expression has %d characters, at most %d are taken", len(expr), MaxLength)
	}
	for i := range len(expr) {
		if c := expr[i]; c != '\t' && (c < ' ' || c > '~') {
			return bad("character %d is neither plain text nor a space", i+1)
		}
	}
	e.text = strings.Trim(expr, " \t")
	switch {
	case e.text == "":
		return bad("an expression is needed: %s, such as 30 2 * * mon-fri", order)
	case e.text[0] == '@':
		return e.parseMacro()
	case strings.HasPrefix(e.text, "TZ=") || strings.HasPrefix(e.text, "CRON_TZ="):
		return bad("a zone does not stand in the expression; put it into timezone")
	}
	return e.parseFields(split(expr))
}

func (e *Expr) parseMacro() error {
	if fields, ok := macro(e.text); ok {
		return e.parseFields(split(fields))
	}
	name := split(e.text)[0].text
	switch strings.ToLower(name) {
	case "@every":
		return bad("@every is not supported: it counts from the start of a server, and a schedule names times of the " +
			"clock; write */5 * * * * for every five minutes")
	case "@reboot":
		return bad("@reboot is not supported: a schedule fires by the clock, not when a machine starts")
	}
	if _, ok := macro(name); ok {
		return bad("%s stands alone, nothing may follow it", name)
	}
	return bad("%s is no known word; the words are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly",
		quote(e.text))
}

// piece is a part of the expression and the number of characters before it.
type piece struct {
	text string
	at   int
}

// split returns the pieces between spaces and tabs.
func split(expr string) []piece {
	var out []piece
	start := -1
	for i := range len(expr) + 1 {
		space := i == len(expr) || expr[i] == ' ' || expr[i] == '\t'
		switch {
		case space && start >= 0:
			out = append(out, piece{expr[start:i], start})
			start = -1
		case !space && start < 0:
			start = i
		}
	}
	return out
}

func (e *Expr) parseFields(parts []piece) error {
	switch n := len(parts); {
	case n < 5:
		return bad("the expression has %d of five fields: %s", n, order)
	case n == 6 || n == 7:
		return bad("the expression has %d fields, five are taken: %s; fields for seconds and years are not supported",
			n, order)
	case n > 7:
		return bad("the expression has %d fields, five are taken: %s", n, order)
	}
	sets := [5]*uint64{&e.minute, &e.hour, &e.dom, &e.month, &e.dow}
	for i, f := range fields() {
		set, err := f.parse(parts[i])
		if err != nil {
			return err
		}
		*sets[i] = set
	}
	e.domStar, e.dowStar = parts[2].text[0] == '*', parts[4].text[0] == '*'
	return nil
}

// parse returns the set of values of a list.
func (f field) parse(list piece) (uint64, error) {
	var set uint64
	at := list.at
	for text := range strings.SplitSeq(list.text, ",") {
		values, err := f.element(piece{text, at})
		if err != nil {
			return 0, err
		}
		set |= values
		at += len(text) + 1
	}
	return set, nil
}

// bad returns the fault of a piece of the field.
func (f field) bad(p piece, format string, args ...any) error {
	return bad("%s, character %d: %s", f.name, p.at+1, fmt.Sprintf(format, args...))
}

// element parses one element of a list: *, a value or a range, with or without a step.
func (f field) element(p piece) (uint64, error) {
	if p.text == "" {
		return 0, f.bad(p, "a value is missing")
	}
	if why := foreign(p.text, f.names); why != "" {
		return 0, f.bad(p, "%s", why)
	}
	body, every, stepped := strings.Cut(p.text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = f.step(piece{every, p.at + len(body) + 1}); err != nil {
			return 0, err
		}
	}
	low, high, err := f.span(piece{body, p.at}, stepped)
	if err != nil {
		return 0, err
	}
	var set uint64
	for v := low; v <= high; v += step {
		if f.top == sunday && v == sunday {
			set |= 1
			continue
		}
		set |= 1 << uint(v)
	}
	return set, nil
}

// span returns the bounds of *, a value or a range. The range of a value with a step ends at the end of the field.
func (f field) span(p piece, stepped bool) (low, high int, err error) {
	if p.text == "*" {
		return f.low, f.high, nil
	}
	first, last, ranged := strings.Cut(p.text, "-")
	if low, err = f.value(piece{first, p.at}); err != nil {
		return 0, 0, err
	}
	switch {
	case !ranged && stepped:
		return low, max(low, f.high), nil
	case !ranged:
		return low, low, nil
	}
	if high, err = f.value(piece{last, p.at + len(first) + 1}); err != nil {
		return 0, 0, err
	}
	if high == 0 && low > 0 && !digits(last) {
		high = sunday // the name sun, the only name with the value zero
	}
	if low > high {
		return 0, 0, f.bad(p, "the range %s runs backwards; write two ranges, the one up to the end first", quote(p.text))
	}
	return low, high, nil
}

// value parses a number or a name.
func (f field) value(p piece) (int, error) {
	if i := named(f.names, p.text); i >= 0 {
		return f.low + i, nil
	}
	switch {
	case p.text == "":
		return 0, f.bad(p, "a value is missing")
	case p.text == "*":
		return 0, f.bad(p, "* cannot be part of a range")
	case !digits(p.text) && f.names != nil:
		return 0, f.bad(p, "%s is neither a number nor one of %s", quote(p.text), strings.Join(f.names, ", "))
	case !digits(p.text):
		return 0, f.bad(p, "%s is no number", quote(p.text))
	}
	n, err := strconv.Atoi(p.text)
	if err != nil || n < f.low || n > f.top {
		return 0, f.bad(p, "%s is out of range, the values are %d to %d", quote(p.text), f.low, f.top)
	}
	return n, nil
}

// step parses the text after a slash.
func (f field) step(p piece) (int, error) {
	if !digits(p.text) {
		return 0, f.bad(p, "the step %s is no number", quote(p.text))
	}
	n, err := strconv.Atoi(p.text)
	if err != nil || n < 1 || n > f.count() {
		return 0, f.bad(p, "the step %s is out of range, steps are 1 to %d", quote(p.text), f.count())
	}
	return n, nil
}

// quote returns text of the expression for a message, truncated to a readable length.
func quote(s string) string {
	const most = 32
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}
