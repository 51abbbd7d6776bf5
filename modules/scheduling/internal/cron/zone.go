package cron

import (
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// maxZone is the largest length of a zone's name in bytes; the longest one in use has 32.
const maxZone = 64

// location returns the zone of a name, or local for an empty one.
func location(zone string, local *time.Location) (*time.Location, error) {
	if zone == "" {
		if local == nil {
			return time.UTC, nil
		}
		return local, nil
	}
	switch {
	case len(zone) > maxZone:
		return nil, fault.BadField("timezone", "the name has %d characters, at most %d are taken", len(zone), maxZone)
	case strings.Trim(zone, letters) != "":
		return nil, fault.BadField("timezone", "a zone has a name of letters, digits and / _ + -, such as Europe/Berlin")
	case zone[0] == '+' || zone[0] == '-' || digits(zone[:1]):
		return nil, fault.BadField("timezone",
			"%s is an offset and no zone; write a name such as Europe/Berlin, or Etc/GMT-2 for a fixed two hours ahead",
			quote(zone))
	case machineOnly(zone):
		return nil, fault.BadField("timezone",
			"%s means something else on each machine; leave timezone out for the server's local time", quote(zone))
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fault.BadField("timezone",
			"%s is no known zone; names are written as in Europe/Berlin, capitals included", quote(zone)).Because(err)
	}
	return loc, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_+-"

// machineOnly reports whether only the files of a machine define a name. The tables in "right" count leap seconds,
// which no clock here does.
func machineOnly(zone string) bool {
	switch strings.ToLower(zone) {
	case "local", "localtime", "posixrules", "factory":
		return true
	}
	return strings.HasPrefix(zone, "posix/") || strings.HasPrefix(zone, "right/") || strings.HasPrefix(zone, "SystemV/")
}

// A segment is a span of time with one offset of a zone. Adjacent segments may have the same offset.
type segment struct {
	start, end int64 // seconds since 1970 UTC, the end exclusive
	offset     int64 // seconds east of UTC
}

// forever is the bound of a segment without a start or an end.
const forever = 1 << 60

// segmentAt returns the segment of an instant.
//
// Package time returns inexact bounds for years beyond a zone's table: on the last day of a leap year the end is a day
// early, and in the year of the table's last change the start may be before that change.
func segmentAt(loc *time.Location, u int64) segment {
	t := time.Unix(u, 0).In(loc)
	start, end := t.ZoneBounds()
	s := segment{start: -forever, end: forever, offset: offsetAt(loc, u)}
	if !end.IsZero() {
		if s.end = end.Unix(); s.end <= u {
			s.end = u - mod(u, day) + day
		}
	}
	if start.IsZero() {
		return s
	}
	if s.start = min(start.Unix(), u); offsetAt(loc, s.start) != s.offset {
		s.start = change(loc, s.start, u)
	}
	return s
}

// change returns the instant in (before, after] at which the offset of after begins.
func change(loc *time.Location, before, after int64) int64 {
	offset := offsetAt(loc, after)
	for after-before > 1 {
		if middle := before + (after-before)/2; offsetAt(loc, middle) == offset {
			after = middle
		} else {
			before = middle
		}
	}
	return after
}

func offsetAt(loc *time.Location, u int64) int64 {
	_, offset := time.Unix(u, 0).In(loc).Zone()
	return int64(offset)
}

// mod returns the non-negative remainder.
func mod(a, b int64) int64 { return ((a % b) + b) % b }
