package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// valueError describes the allowed values, without the actual one.
type valueError struct{ msg string }

func (e *valueError) Error() string { return e.msg }

// duration is a flag that takes 90s, 12h, 1h30m or a bare number of seconds; with days it also takes 90d. It is never
// negative.
type duration struct {
	*time.Duration
	days bool
}

const day = 24 * time.Hour

// DurationVar defines a flag of time in a flag set.
func DurationVar(fs *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	fs.Var(&duration{Duration: d}, name, usage)
}

// DaysVar defines a flag for a duration that may also be given in days.
func DaysVar(fs *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	fs.Var(&duration{Duration: d, days: true}, name, usage)
}

func (d *duration) Set(s string) error {
	s = strings.TrimSpace(s)
	v, err := time.ParseDuration(s)
	if n, isDays := strings.CutSuffix(s, "d"); isDays && d.days {
		v, err = count(n, day)
	} else if s != "" && strings.Trim(s, "0123456789") == "" {
		v, err = count(s, time.Second)
	}
	if err != nil || v < 0 {
		return &valueError{msg: "expected " + d.forms()}
	}
	*d.Duration = v
	return nil
}

func (d *duration) forms() string {
	if d.days {
		return "a time such as 90d, 12h or 90s, or a number of seconds"
	}
	return "a time such as 90s or 12h, or a number of seconds"
}

func count(s string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("out of range")
	}
	return time.Duration(n) * unit, nil
}

// String returns the zero time as "0", which help does not show as a default.
func (d *duration) String() string {
	switch {
	case d.Duration == nil || *d.Duration == 0:
		return "0"
	case d.days && *d.Duration%day == 0:
		return strconv.FormatInt(int64(*d.Duration/day), 10) + "d"
	}
	s := d.Duration.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Type returns the placeholder in help texts.
func (d *duration) Type() string { return "time" }

// size is a flag that takes a number of bytes: 268435456, 256MiB, 256M or 1GiB. It is never negative.
type size int64

// SizeVar defines a flag of a number of bytes in a flag set.
func SizeVar(fs *pflag.FlagSet, n *int64, name string, value int64, usage string) {
	*n = value
	fs.Var((*size)(n), name, usage)
}

func (s *size) Set(text string) error {
	num := strings.TrimRight(strings.TrimSpace(text), "iBb")
	shift := 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(num), unit); ok {
			num, shift = rest, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return &valueError{msg: "expected a number of bytes, such as 1048576, 64MiB or 1GiB"}
	}
	*s = size(n << shift)
	return nil
}

// ParseSize returns the number of bytes that a flag of SizeVar would have for a text.
func ParseSize(text string) (int64, error) {
	var s size
	err := s.Set(text)
	return int64(s), err
}

func (s *size) String() string {
	n := int64(*s)
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if one := int64(1) << (40 - 10*i); n >= one && n%one == 0 {
			return strconv.FormatInt(n/one, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}

func (s *size) Type() string { return "bytes" }
