package runs

import (
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// LogPiece is a piece of the log in a stream.
type LogPiece struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset after the piece, at which a reader resumes. It cannot be computed from Text, where invalid
	// bytes become longer characters.
	Next int64 `json:"next"`
}

func piece(at int64, data []byte) LogPiece {
	return LogPiece{Offset: at, Text: string(data), Next: at + int64(len(data))}
}

// runeBuffer keeps a character that is split between chunks until its rest arrives, so that JSON does not replace
// both halves.
type runeBuffer struct {
	held []byte
	at   int64 // offset of held
}

// take returns the part of the chunk that is complete, after the rest of the previous one.
func (c *runeBuffer) take(chunk runs.LogChunk) []LogPiece {
	var out []LogPiece
	if len(c.held) > 0 && c.at+int64(len(c.held)) != chunk.Offset {
		// The bytes between were dropped, so that the split character stays incomplete.
		out = append(out, piece(c.at, c.held))
		c.held = nil
	}
	data := chunk.Data
	at := chunk.Offset
	if len(c.held) > 0 {
		data = append(append([]byte{}, c.held...), chunk.Data...)
		at = c.at
	}
	cut := len(data) - partial(data)
	c.held, c.at = append([]byte{}, data[cut:]...), at+int64(cut)
	if cut > 0 {
		out = append(out, piece(at, data[:cut]))
	}
	return out
}

// flush returns the split character if no chunk follows.
func (c *runeBuffer) flush() (LogPiece, bool) {
	last, ok := piece(c.at, c.held), len(c.held) > 0
	c.held = nil
	return last, ok
}

// partial returns the number of bytes of an incomplete character at the end.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
