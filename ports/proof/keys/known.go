package keys

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxKnown = 1 << 20
	maxPins  = 4096
)

// Pin is a reader's record of a log: the key of an origin, and the newest head seen. Later heads have to be consistent
// with it. A log whose checkpoint and statement keys are both recorded has two pins.
type Pin struct {
	Origin string
	KeyID  string
	Size   int64
	Root   [32]byte
}

// Check checks the form of the pin's members.
func (p Pin) Check() error {
	if err := CheckOrigin(p.Origin); err != nil {
		return err
	}
	if strings.HasPrefix(p.Origin, "#") {
		return FormatInvalid.New("the origin of a pin must not begin with #")
	}
	if p.Size < 0 || p.Size > MaxInteger {
		return FormatInvalid.New("a pin has an invalid size")
	}
	return CheckID(p.KeyID)
}

// Line returns the pin as a line of a known_logs file with its newline.
func (p Pin) Line() (string, error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	root := base64.StdEncoding.EncodeToString(p.Root[:])
	return p.Origin + " " + p.KeyID + " " + strconv.FormatInt(p.Size, 10) + " " + root + "\n", nil
}

// ParseKnown reads a known_logs file: one pin per line, with single spaces between its members. Empty lines and lines
// that begin with # are ignored. Each line ends with a newline, so that a truncated line is detected. There is one pin
// for a key and an origin. Fault: FormatInvalid with the line.
func ParseKnown(text []byte) ([]Pin, error) {
	switch {
	case len(text) > maxKnown:
		return nil, FormatInvalid.New("a file of known logs has at most %d bytes", maxKnown)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), '\r'):
		return nil, FormatInvalid.New("a file of known logs is UTF-8 with plain newlines")
	case len(text) > 0 && text[len(text)-1] != '\n':
		return nil, FormatInvalid.New("the last line of the known logs is truncated")
	}
	var pins []Pin
	seen := make(map[[2]string]bool)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line == "\n" || line[0] == '#' {
			continue
		}
		p, err := parsePin(line)
		if err != nil {
			return nil, FormatInvalid.New("line %d of the known logs is not a pin", n).Because(err)
		}
		id := [2]string{p.Origin, p.KeyID}
		if seen[id] || len(pins) == maxPins {
			return nil, FormatInvalid.New("line %d of the known logs repeats a key of its log, or there are over %d lines", n,
				maxPins)
		}
		seen[id] = true
		pins = append(pins, p)
	}
	return pins, nil
}

func parsePin(line string) (Pin, error) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(fields) != 4 {
		return Pin{}, FormatInvalid.New("a pin is an origin, a key id, a size and a root")
	}
	size, err := ParseSize(fields[2])
	if err != nil {
		return Pin{}, err
	}
	root, err := ParseRoot(fields[3])
	if err != nil {
		return Pin{}, err
	}
	p := Pin{Origin: fields[0], KeyID: fields[1], Size: size, Root: root}
	return p, p.Check()
}

// FormatKnown writes a known_logs file of these pins. The caller keeps the comments of an earlier file.
func FormatKnown(pins []Pin) ([]byte, error) {
	var b strings.Builder
	for _, p := range pins {
		line, err := p.Line()
		if err != nil {
			return nil, err
		}
		b.WriteString(line)
	}
	if _, err := ParseKnown([]byte(b.String())); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// Pinned returns the ring of the listed keys that pins of this origin name. Other listed keys are not trusted. Fault:
// KeyUntrusted if no pin names a listed key.
func Pinned(pins []Pin, origin string, listed []Key) (Ring, error) {
	var trusted []Key
	for _, k := range listed {
		for _, p := range pins {
			if p.Origin == origin && p.KeyID == k.ID && (k.Use == Statement || k.Origin() == origin) {
				trusted = append(trusted, k)
			}
		}
	}
	if len(trusted) == 0 {
		return Ring{}, KeyUntrusted.New("no pin of %s names a listed key", origin)
	}
	return NewRing(trusted...)
}
