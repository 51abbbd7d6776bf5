package checkpoint

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	linePrefix = "— "
	hashLen    = 4
)

// Line is a signature line of a note by any signer. Hash is a hint of the key and does not identify it.
type Line struct {
	Name string
	Hash uint32
	Sig  []byte
}

// Note is a well-formed note. Nothing of it is verified.
type Note struct {
	Body
	Lines []Line
}

// Parse reads a note without verifying it. Fault: FormatInvalid for control characters including carriage returns, for
// anything but three lines, an empty one and one to MaxLines signature lines, for two lines of one key and for any
// alternative spelling.
func Parse(data []byte) (Note, error) {
	if len(data) > MaxNote {
		return Note{}, keys.FormatInvalid.New("a note has at most %d bytes", MaxNote)
	}
	text := string(data)
	if !utf8.ValidString(text) {
		return Note{}, keys.FormatInvalid.New("the note is not UTF-8")
	}
	for i := range len(text) {
		if text[i] < 0x20 && text[i] != '\n' || text[i] == 0x7f {
			return Note{}, keys.FormatInvalid.New("the note has a control character")
		}
	}
	head, tail, ok := strings.Cut(text, "\n\n")
	if !ok {
		return Note{}, keys.FormatInvalid.New("the note has no empty line before its signatures")
	}
	body, err := ParseBody(head + "\n")
	if err != nil {
		return Note{}, err
	}
	lines, err := parseLines(tail)
	return Note{Body: body, Lines: lines}, err
}

func parseLines(tail string) ([]Line, error) {
	if !strings.HasSuffix(tail, "\n") {
		return nil, keys.FormatInvalid.New("the note has no signature, or its last line is truncated")
	}
	rows := strings.Split(strings.TrimSuffix(tail, "\n"), "\n")
	if len(rows) > MaxLines {
		return nil, keys.FormatInvalid.New("the note has more than %d signature lines", MaxLines)
	}
	type id struct {
		name string
		hash uint32
	}
	seen := make(map[id]bool, len(rows))
	lines := make([]Line, 0, len(rows))
	for _, row := range rows {
		l, err := parseLine(row)
		if err != nil {
			return nil, err
		}
		if seen[id{l.Name, l.Hash}] {
			return nil, keys.FormatInvalid.New("the note has two lines of one key")
		}
		seen[id{l.Name, l.Hash}] = true
		lines = append(lines, l)
	}
	return lines, nil
}

func parseLine(row string) (Line, error) {
	rest, ok := strings.CutPrefix(row, linePrefix)
	name, text, two := strings.Cut(rest, " ")
	if !ok || !two || name == "" || strings.ContainsRune(name, '+') || strings.IndexFunc(name, unicode.IsSpace) >= 0 {
		return Line{}, keys.FormatInvalid.New("a line after the text of the note is not a signature line")
	}
	raw, err := keys.Base64(text)
	if err != nil {
		return Line{}, err
	}
	if len(raw) <= hashLen {
		return Line{}, keys.FormatInvalid.New("a signature line has no signature")
	}
	return Line{Name: name, Hash: binary.BigEndian.Uint32(raw), Sig: raw[hashLen:]}, nil
}
